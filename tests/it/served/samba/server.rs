//! smbd in directories of the test's own, smbclient, and what that says.

use std::io::{PipeReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::Tree;

/// smbd with the mount as `share`, open to guests, in directories of its own. It ends with the test.
pub(super) struct Samba {
    child: Child,
    /// What smbd and its children write, until the last of them has ended.
    output: PipeReader,
    port: Port,
    pub(super) place: PathBuf,
}

/// A port of this host that nobody else is given. smbd can listen on it, as both it and this allow that it is used again.
struct Port {
    number: u16,
    _bound: OwnedFd,
}

impl Port {
    fn new() -> Self {
        let (inet, stream) = (AddressFamily::INET, SocketType::STREAM);
        let flags = SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(inet, stream, flags, None).unwrap();
        rustix::net::sockopt::set_socket_reuseaddr(&socket, true).unwrap();
        rustix::net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = rustix::net::getsockname(&socket).unwrap();
        Self {
            number: SocketAddr::try_from(address).unwrap().port(),
            _bound: socket,
        }
    }
}

impl Samba {
    /// Starts smbd with a configuration as in docs/serving.md, and waits until it says that it is ready.
    pub(super) fn start(tree: &Tree, configuration: &str) -> Self {
        let place = tree.parent().join("samba");
        std::fs::create_dir(&place).unwrap();
        let port = Port::new();
        let number = port.number;
        let mut own = format!(
            "[global]\nmap to guest = bad user\nguest account = nobody\nsmb ports = {number}\ndisable netbios = yes\n\
             interfaces = 127.0.0.1\nbind interfaces only = yes\nload printers = no\nprintcap name = /dev/null\n"
        );
        for directory in ["lock", "state", "cache", "private", "pid", "ncalrpc"] {
            let path = place.join(directory);
            std::fs::create_dir(&path).unwrap();
            let word = if matches!(directory, "private" | "ncalrpc") {
                "dir"
            } else {
                "directory"
            };
            own.push_str(&format!(
                "{directory} {word} = {}\n",
                path.to_str().unwrap()
            ));
        }
        let point = tree.point();
        let configuration = configuration
            .replace("[global]\n", &own)
            .replace("/mnt/share", point.to_str().unwrap())
            + "guest ok = yes\n";
        let file = place.join("smb.conf");
        std::fs::write(&file, configuration).unwrap();
        let socket = place.join("notify");
        let ready = UnixDatagram::bind(&socket).unwrap();
        ready
            .set_read_timeout(Some(Duration::from_secs(120)))
            .unwrap();
        let (output, write) = std::io::pipe().unwrap();
        let child = Command::new("setpriv")
            .args([
                "--pdeathsig",
                "TERM",
                "--",
                "smbd",
                "--foreground",
                "--debug-stdout",
            ])
            .arg(option("--configfile=", &file))
            .env("NOTIFY_SOCKET", &socket)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(write.try_clone().unwrap())
            .stderr(write)
            .spawn()
            .unwrap();
        let mut samba = Self {
            child,
            output,
            port,
            place,
        };
        let mut message = [0; 1024];
        loop {
            let length = ready.recv(&mut message).unwrap_or(0);
            let text = String::from_utf8(message[..length].to_vec()).unwrap();
            if text.contains("READY=1") {
                return samba;
            }
            let failed = length == 0 || text.contains("ERRNO=");
            assert!(!failed, "smbd does not start: {text}\n{}", samba.end());
        }
    }

    /// Ends smbd and its children, and waits for the last of them: until then the mount is in use.
    fn end(&mut self) -> String {
        // smbd tells its children. Only our own child, and only while it is ours: it has not been waited for.
        if matches!(self.child.try_wait(), Ok(None)) {
            let pid = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
            _ = kill_process(pid, Signal::TERM);
        }
        let mut log = Vec::new();
        self.output.read_to_end(&mut log).unwrap();
        drop(self.child.wait());
        log.escape_ascii().to_string().replace("\\n", "\n")
    }

    /// Runs commands of smbclient in a directory of the share, and returns what it says.
    pub(super) fn client(&self, directory: &str, commands: &[u8]) -> Vec<u8> {
        let mut child = Command::new("smbclient")
            .arg("//127.0.0.1/share")
            .args([
                "--no-pass",
                "--port",
                &self.port.number.to_string(),
                // Seconds for each answer; a busy machine may take more than the usual 20.
                "--timeout",
                "300",
                "--directory",
                directory,
            ])
            .arg(option("--configfile=", &self.place.join("smb.conf")))
            .env("LC_ALL", "C.UTF-8")
            .current_dir(&self.place)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let commands = commands.to_vec();
        let writer = std::thread::spawn(move || stdin.write_all(&commands));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        output.stdout
    }

    /// The names that a client lists, sorted.
    pub(super) fn list(&self, directory: &str) -> Vec<Vec<u8>> {
        listed(&self.client(directory, b"ls\n"))
    }
}

impl Drop for Samba {
    fn drop(&mut self) {
        self.end();
    }
}

pub(super) fn option(name: &str, path: &Path) -> String {
    format!("{name}{}", path.to_str().unwrap())
}

/// The names in the output of `ls`, whose lines are name, attributes, size and a date of 24 characters.
fn listed(output: &[u8]) -> Vec<Vec<u8>> {
    let lines = output.split(|&byte| byte == b'\n');
    let mut names: Vec<_> = lines.filter_map(name_in).map(<[u8]>::to_vec).collect();
    names.sort();
    names.retain(|name| name != b"." && name != b"..");
    names
}

fn name_in(line: &[u8]) -> Option<&[u8]> {
    let line = line.strip_prefix(b"  ")?;
    let line = line.get(..line.len().checked_sub(26)?)?;
    let size = line.iter().rposition(|byte| !byte.is_ascii_digit())?;
    let line = line.get(..=size)?.trim_ascii_end();
    let attributes = line.iter().rposition(|&byte| byte == b' ')?;
    Some(line.get(..attributes)?.trim_ascii_end())
}

/// The first status in what smbclient says.
pub(super) fn status(output: &[u8]) -> Option<&str> {
    let at = output.windows(10).position(|word| word == b"NT_STATUS_")?;
    let word = output[at..].split(|byte| !byte.is_ascii_uppercase() && *byte != b'_');
    std::str::from_utf8(word.into_iter().next()?).ok()
}
