//! A headless Chromium, by its `DevTools` protocol over a pipe: messages of JSON, each ended by a NUL.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// No page takes longer.
const PATIENCE: Duration = Duration::from_secs(300);

/// One page of a browser of its own, which ends with it.
pub(crate) struct Page {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    session: Option<String>,
    last: u64,
    /// What the browser told unasked.
    pub(crate) events: Vec<Value>,
    /// Ends it when it takes too long.
    watch: Option<(Sender<()>, JoinHandle<()>)>,
    _profile: tempfile::TempDir,
}

impl Page {
    /// Opens a page of 1280 by 900 points. `first` is a script that runs before any of the page's.
    pub(crate) fn open(file: &Path, first: &str) -> Self {
        let profile = tempfile::tempdir().unwrap();
        // Chromium reads from descriptor 3 and writes to 4.
        let script = r#"exec chromium "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#;
        let mut child = Command::new("sh")
            .args([
                "-c",
                script,
                "sh",
                "--headless=new",
                "--no-sandbox",
                "--remote-debugging-pipe",
            ])
            .args([
                "--disable-gpu",
                "--no-first-run",
                "--disable-extensions",
                "--disable-background-networking",
            ])
            .arg(format!(
                "--user-data-dir={}",
                profile.path().to_str().unwrap()
            ))
            .env("HOME", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = Pid::from_child(&child);
        let (done, is_done) = channel::<()>();
        let watch = std::thread::spawn(move || {
            if is_done.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                kill_process(pid, Signal::KILL).unwrap();
            }
        });
        let mut page = Self {
            to: child.stdin.take(),
            from: BufReader::new(child.stdout.take().unwrap()),
            child,
            session: None,
            last: 0,
            events: Vec::new(),
            watch: Some((done, watch)),
            _profile: profile,
        };
        let target = page.call("Target.createTarget", json!({"url": "about:blank"}));
        let session = page.call(
            "Target.attachToTarget",
            json!({"targetId": target["targetId"], "flatten": true}),
        );
        page.session = Some(session["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        page.call(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": false}),
        );
        page.call(
            "Page.addScriptToEvaluateOnNewDocument",
            json!({"source": first}),
        );
        let url = format!("file://{}", file.to_str().unwrap());
        page.call("Page.setLifecycleEventsEnabled", json!({"enabled": true}));
        let loader = page.call("Page.navigate", json!({"url": url}))["loaderId"].clone();
        assert!(loader.is_string(), "{loader}");
        // The blank page before it is loaded too, maybe only now.
        let is_loaded = |event: &Value| {
            let params = &event["params"];
            event["method"] == "Page.lifecycleEvent"
                && params["name"] == "load"
                && params["loaderId"] == loader
        };
        while !page.events.iter().any(is_loaded) {
            page.receive();
        }
        page
    }

    /// Asks the browser, and gives what it answers.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let message = format!("{message}\0");
        self.to
            .as_mut()
            .unwrap()
            .write_all(message.as_bytes())
            .unwrap();
        loop {
            if let Some(answer) = self.receive() {
                assert_eq!(answer["id"], self.last);
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// The next answer; an event is kept.
    fn receive(&mut self) -> Option<Value> {
        let mut message = Vec::new();
        self.from.read_until(0, &mut message).unwrap();
        assert_eq!(message.pop(), Some(0), "chromium ended, or took too long");
        let message: Value = serde_json::from_slice(&message).unwrap();
        if message.get("id").is_some() {
            return Some(message);
        }
        self.events.push(message);
        None
    }

    /// The value of an expression.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let answer = self.call(
            "Runtime.evaluate",
            json!({"expression": expression, "returnByValue": true}),
        );
        assert!(
            answer.get("exceptionDetails").is_none(),
            "{expression}: {answer}"
        );
        answer["result"]["value"].clone()
    }

    /// Clicks with the mouse into the middle of what `element` is, an expression.
    pub(crate) fn click(&mut self, element: &str) {
        let middle = self.value(&format!(
            "(() => {{ const e = {element}; e.scrollIntoView({{block: 'center'}}); const r = e.getBoundingClientRect(); \
             return [r.x + r.width / 2, r.y + r.height / 2]; }})()"
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            self.call(
                "Input.dispatchMouseEvent",
                json!({"type": kind, "x": middle[0], "y": middle[1], "button": "left", "clickCount": 1}),
            );
        }
    }

    /// Types where the focus is.
    pub(crate) fn type_text(&mut self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    /// All of the page as PNG, in base64.
    pub(crate) fn screenshot(&mut self) -> String {
        let shot = self.call(
            "Page.captureScreenshot",
            json!({"format": "png", "captureBeyondViewport": true}),
        );
        shot["data"].as_str().unwrap().to_owned()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // It ends with its pipe, and is ended where it does not.
        drop(self.to.take());
        drop(self.child.kill());
        drop(self.child.wait());
        if let Some((done, watch)) = self.watch.take() {
            drop(done);
            drop(watch.join());
        }
    }
}
