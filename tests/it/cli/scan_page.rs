//! The page of `utf8fs scan --html`, in a real browser: it can be used, and names in it are never more than text.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use base64::Engine;
use serde_json::{Value, json};
use utf8fs::names::Quoted;

use super::run;
use crate::support::chromium::Page;
use crate::support::{Tree, needs};

/// Names that are markup, script, or the end of what they stand in. Some become what they are in a path only.
const HOSTILE: &[&[u8]] = &[
    b"</script><script>pwned(1)</script>\xFF",
    b"<img src=x onerror=pwned(2)>\xFF",
    b"\"'&<svg onload=pwned(3)>\xFF",
    b"'-pwned(4)-'\xFF",
    b"\\u003cscript\\u003epwned(5)\\u003c/script\\u003e\xFF",
    b"--><!--<script>\xFF",
    b"]]>&lt;b&gt;&#60;i&#62;\xFF",
    b"javascript:pwned(6)\xFF",
    "\u{2028}pwned(7)\u{2029}//\u{202E}gpj.exe\u{2066}".as_bytes(),
    b"\x1B[2J\x1B]0;title\x07\xFF",
    b"\nline\r\xFF",
    b"__proto__\xFF",
    b"caf\xE9.txt",
    b"Fran\xE7ois na\xEFf.txt",
    b"__proto__/constructor\xFF",
    b"old/music/H\xE9l\xE8ne.mp3",
    b"old/music/deep/Caf\xE9 \xE0 la cr\xE8me.mp3",
    b"old/music/deep/\xC9t\xE9.mp3",
    b"old/README.md",
    b"old/readme.md",
    b"old/-rf",
    "new/CafÃ© de la gare".as_bytes(),
    b"new/\xC0\xAFetc",
    b"new/COM1",
];

fn tree() -> Tree {
    let tree = Tree::new();
    for name in HOSTILE {
        let path = tree.backing().join(OsStr::from_bytes(name));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    for (directory, names) in [
        ("old/photos", 40),
        ("old/photos/1998", 90),
        ("new/misc", 15),
        ("archive", 200),
    ] {
        let directory = tree.backing().join(directory);
        std::fs::create_dir_all(&directory).unwrap();
        for index in 0..names {
            let name = [b"\xE9t\xE9 ", format!("{index:03}.jpg").as_bytes()].concat();
            std::fs::write(directory.join(OsStr::from_bytes(&name)), "").unwrap();
        }
    }
    tree
}

fn report(tree: &Tree) -> PathBuf {
    let backing = tree.backing();
    let file = tree.parent().join("report.html");
    let (file_name, backing) = (file.as_os_str().as_bytes(), backing.as_os_str().as_bytes());
    let run = run(&[
        b"scan",
        b"--html",
        file_name,
        b"--profile",
        b"portable",
        b"--unique",
        b"casefold",
        backing,
    ]);
    assert_eq!(run.code, Some(1), "{run:?}");
    file
}

/// Counts how often a script of a name's ran; also where it only asks.
const WATCH: &str = "window.ran = 0; window.pwned = () => { window.ran++; }; \
    for (const way of ['alert', 'confirm', 'prompt', 'open', 'fetch']) window[way] = () => { window.ran++; };";

fn texts(page: &mut Page, selector: &str) -> Vec<String> {
    let found = page.value(&format!(
        "[...document.querySelectorAll({selector:?})].map((e) => e.textContent)"
    ));
    found
        .as_array()
        .unwrap()
        .iter()
        .map(|text| text.as_str().unwrap().to_owned())
        .collect()
}

fn numbers(page: &mut Page, selector: &str) -> Vec<u64> {
    texts(page, selector)
        .iter()
        .map(|text| text.replace(',', "").parse().unwrap())
        .collect()
}

/// Nothing that a name says was done, fetched or complained of.
fn assert_unharmed(page: &mut Page) {
    assert_eq!(page.value("window.ran"), json!(0));
    assert_eq!(page.value("document.scripts.length"), json!(2));
    assert_eq!(
        page.value("document.querySelectorAll('img, svg, i, iframe, a').length"),
        json!(0)
    );
    let bad = |event: &&Value| match event["method"].as_str().unwrap_or_default() {
        "Network.requestWillBeSent" => {
            let url = event["params"]["request"]["url"]
                .as_str()
                .unwrap_or_default();
            !url.ends_with("/report.html")
        }
        "Log.entryAdded" => event["params"]["entry"]["level"] == "error",
        method => matches!(
            method,
            "Runtime.exceptionThrown" | "Page.javascriptDialogOpening"
        ),
    };
    let bad: Vec<&Value> = page.events.iter().filter(bad).collect();
    assert!(bad.is_empty(), "{bad:?}");
}

#[test]
fn the_page_is_sorted_filtered_and_walked_and_no_name_in_it_is_more_than_text() {
    if !needs::program("chromium", "the page of scan --html") {
        return;
    }
    let tree = tree();
    let mut page = Page::open(&report(&tree), WATCH);
    assert_unharmed(&mut page);
    let next = texts(&mut page, "#next .name").join("");
    assert!(next.starts_with("utf8fs migrate --from auto "), "{next}");

    // Every name is there, quoted, as text.
    for name in HOSTILE {
        let last = name.rsplit(|byte| *byte == b'/').next().unwrap();
        let quoted = Quoted(last).to_string();
        page.click("document.querySelector('#names input')");
        page.value("document.querySelector('#names input').select()");
        page.type_text(&quoted);
        let rows = texts(&mut page, "#names tbody tr td:first-child");
        assert!(rows.contains(&quoted), "{quoted} is not in {rows:?}");
    }
    assert_unharmed(&mut page);

    // A filter by text, and what a name reads.
    page.value("document.querySelector('#names input').select()");
    page.type_text("Hélène");
    assert_eq!(
        texts(&mut page, "#names tbody tr td:first-child"),
        [r#""H\xE9l\xE8ne.mp3""#]
    );
    let readings = texts(&mut page, "#names tbody .reading .name");
    assert_eq!(readings[0], "\"Hélène.mp3\"");
    page.value("document.querySelector('#names input').select()");
    page.type_text("no such name");
    assert_eq!(texts(&mut page, "#names tbody tr"), [""; 0]);

    // Sorting both ways, by numbers and by text.
    let column = "#directories tbody td:nth-child(2)";
    let header = |n: u8| format!("document.querySelector('#directories th:nth-child({n}) button')");
    page.click(&header(2));
    let down = numbers(&mut page, column);
    assert!(
        down.len() > 5 && down.is_sorted_by(|a, b| a >= b),
        "{down:?}"
    );
    page.click(&header(2));
    let up = numbers(&mut page, column);
    assert!(up.is_sorted() && up != down, "{up:?}");
    page.click(&header(1));
    let paths = texts(&mut page, "#directories tbody td:first-child");
    assert!(paths.is_sorted(), "{paths:?}");

    // The map: down into a directory by its box, up by the path.
    let tiles = |page: &mut Page| texts(page, "#map .tile .name");
    let top = tiles(&mut page);
    assert!(
        top.contains(&"\"archive\"".to_owned()) && top.contains(&"\"old\"".to_owned()),
        "{top:?}"
    );
    let tile = |name: &str| {
        format!(
            "[...document.querySelectorAll('#map .tile')].find((e) => e.title.startsWith({:?}))",
            format!("\"{name}\"")
        )
    };
    page.click(&tile("old"));
    let below = tiles(&mut page);
    assert!(
        below.contains(&"\"photos\"".to_owned()) && !below.contains(&"\"archive\"".to_owned()),
        "{below:?}"
    );
    page.click(&tile("photos"));
    assert!(tiles(&mut page).contains(&"names right here".to_owned()));
    assert_eq!(
        texts(&mut page, "#crumbs .count"),
        ["130 names with findings"]
    );
    page.click("document.querySelectorAll('#crumbs button')[1]");
    assert_eq!(tiles(&mut page), top);

    assert_unharmed(&mut page);
}

#[test]
fn the_page_fits_and_its_boxes_do_not_overlap() {
    if !needs::program("chromium", "how the page of scan --html looks") {
        return;
    }
    let tree = tree();
    let mut page = Page::open(&report(&tree), WATCH);
    for width in [1280, 700] {
        page.call(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false}),
        );
        page.value("dispatchEvent(new Event('resize'))");
        assert_eq!(
            page.value("document.documentElement.scrollWidth <= innerWidth"),
            json!(true)
        );
        let overlaps = page.value(
            "(() => { const boxes = [...document.querySelectorAll('#map .tile')].map((e) => e.getBoundingClientRect()); \
             const map = document.querySelector('#map').getBoundingClientRect(); \
             const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 \
               && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1; \
             const out = (a) => a.left < map.left - 1 || a.top < map.top - 1 || a.right > map.right + 1 || a.bottom > map.bottom + 1; \
             return [boxes.length, boxes.filter((a, i) => out(a) || boxes.some((b, j) => i < j && over(a, b))).length]; })()",
        );
        assert_eq!(overlaps[1], json!(0), "{overlaps}");
        assert!(overlaps[0].as_u64() > Some(5), "{overlaps}");
        // To be looked at.
        if let Some(directory) = std::env::var_os("UTF8FS_SCREENSHOTS") {
            let shot = base64::engine::general_purpose::STANDARD
                .decode(page.screenshot())
                .unwrap();
            std::fs::write(
                PathBuf::from(directory).join(format!("scan-{width}.png")),
                shot,
            )
            .unwrap();
        }
    }
}
