//! A slow filesystem for others to lie on: a directory `files` in which every name is an empty file, and each name is looked up in
//! so many milliseconds, as many at a time as are asked for.
//!
//! Speaks as much of the protocol of `/dev/fuse` as stat(2) and mounting over it take (`include/uapi/linux/fuse.h`). Root mounts it;
//! it ends when it is unmounted.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::sys::mount_fuse;

/// Requests that are served at a time.
const THREADS: usize = 64;

const ROOT: u64 = 1;
const FILES: u64 = 2;

mod opcode {
    pub const LOOKUP: u32 = 1;
    pub const FORGET: u32 = 2;
    pub const GETATTR: u32 = 3;
    pub const STATFS: u32 = 17;
    pub const RELEASE: u32 = 18;
    pub const INIT: u32 = 26;
    pub const OPENDIR: u32 = 27;
    pub const READDIR: u32 = 28;
    pub const RELEASEDIR: u32 = 29;
    pub const INTERRUPT: u32 = 36;
    pub const BATCH_FORGET: u32 = 42;
}

const ENOENT: i32 = 2;
const ENOSYS: i32 = 38;

/// Mounts it and serves until it is unmounted.
pub fn serve(mountpoint: &Path, time: Duration) -> io::Result<()> {
    let device = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/fuse")?;
    mount_fuse(mountpoint, device.as_raw_fd())?;
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| while answer(&device, time).is_ok() {});
        }
    });
    Ok(())
}

/// Answers one request. An error when there will be none any more.
fn answer(mut device: &File, time: Duration) -> io::Result<()> {
    let mut buffer = vec![0_u8; 64 << 10];
    let length = match device.read(&mut buffer) {
        // Its asker has gone before it was read (ENOENT), or a signal came.
        Err(error) if matches!(error.raw_os_error(), Some(2 | 4)) => return Ok(()),
        read => read?,
    };
    let word = |at: usize| u32::from_ne_bytes(buffer[at..at + 4].try_into().expect("four octets"));
    let long = |at: usize| u64::from_ne_bytes(buffer[at..at + 8].try_into().expect("eight octets"));
    let (code, unique, node) = (word(4), long(8), long(16));
    let told = match code {
        opcode::FORGET | opcode::BATCH_FORGET | opcode::INTERRUPT => return Ok(()),
        opcode::INIT => Ok(init(word(40), word(44))),
        opcode::LOOKUP => {
            let name = buffer[40..length].split(|octet| *octet == 0).next();
            let found = child(node, name.unwrap_or_default());
            if node == FILES {
                thread::sleep(time);
            }
            found.map(|number| {
                // Kept for a second, as by most network filesystems.
                let mut entry = number.to_ne_bytes().to_vec();
                for word in [0_u64, 1, 1, 0] {
                    entry.extend(word.to_ne_bytes());
                }
                entry.extend(attributes(number));
                entry
            })
        }
        opcode::GETATTR => {
            let mut kept = 1_u64.to_ne_bytes().to_vec();
            kept.resize(16, 0);
            kept.extend(attributes(node));
            Ok(kept)
        }
        opcode::STATFS => {
            // Of `struct fuse_kstatfs` the size of a block, the longest name, and the size of a fragment.
            let mut state = vec![0; 40];
            for number in [4096_u32, 255, 4096] {
                state.extend(number.to_ne_bytes());
            }
            state.resize(80, 0);
            Ok(state)
        }
        opcode::OPENDIR => Ok(vec![0; 16]),
        opcode::READDIR | opcode::RELEASEDIR | opcode::RELEASE => Ok(Vec::new()),
        _ => Err(ENOSYS),
    };
    let (errno, body) = told.map_or_else(|errno| (-errno, Vec::new()), |body| (0, body));
    let mut reply = (16 + body.len() as u32).to_ne_bytes().to_vec();
    reply.extend(errno.to_ne_bytes());
    reply.extend(unique.to_ne_bytes());
    reply.extend(body);
    match device.write(&reply) {
        Err(error) if error.raw_os_error() == Some(ENOENT) => Ok(()),
        written => written.map(drop),
    }
}

/// `struct fuse_init_out`: the kernel's version, many requests in one directory, and writes of a page.
fn init(major: u32, minor: u32) -> Vec<u8> {
    const PARALLEL_DIROPS: u32 = 1 << 18;
    let mut body = Vec::new();
    for number in [major, minor, 0, PARALLEL_DIROPS, 0x0010_0010, 4096, 1] {
        body.extend(number.to_ne_bytes());
    }
    body.resize(64, 0);
    body
}

/// The number of a name: files have the one in their name, and a bit for its first letter, so that no two have one.
fn child(parent: u64, name: &[u8]) -> Result<u64, i32> {
    match parent {
        ROOT if name == b"files" => Ok(FILES),
        FILES => {
            let digits = name.iter().filter(|octet| octet.is_ascii_digit());
            let number = digits.fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
            Ok((number << 8 | u64::from(name.first().copied().unwrap_or_default())) + 16)
        }
        _ => Err(ENOENT),
    }
}

/// `struct fuse_attr`.
fn attributes(number: u64) -> Vec<u8> {
    let is_directory = number <= FILES;
    let mut attributes = number.to_ne_bytes().to_vec();
    attributes.resize(48 + 12, 0);
    let (mode, links) = if is_directory {
        (0o40_755_u32, 2_u32)
    } else {
        (0o100_644, 1)
    };
    for word in [mode, links, 0, 0, 0, 4096, 0] {
        attributes.extend(word.to_ne_bytes());
    }
    attributes
}
