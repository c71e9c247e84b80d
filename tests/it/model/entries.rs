//! Entries as a test makes and recognizes them, and words for them.

use std::os::fd::OwnedFd;

use rustix::fs::FileType;
use rustix::io::Errno;

use super::directory::{Kind, Model, Node};
use super::operations::Bytes;
use crate::support::{at, show};

/// What makes a directory one that cannot be removed.
pub(super) const CHILD: &[u8] = b"child";

/// Makes entries below, those whose names are new.
pub(super) fn add_below(
    below: &OwnedFd,
    model: &mut Model,
    token: &mut u32,
    entries: &[(Bytes, Kind)],
) {
    for (Bytes(name), kind) in entries {
        if model.directory.contains_key(name) {
            continue;
        }
        *token += 1;
        let content = token.to_string().into_bytes();
        match kind {
            Kind::File => at::write_new(below, name, &content).unwrap(),
            Kind::Symlink => at::symlink(&content, below, name).unwrap(),
            Kind::EmptyDirectory | Kind::FullDirectory => {
                at::mkdir(below, name).unwrap();
                if *kind == Kind::FullDirectory {
                    let new = at::open_dir(below, name).unwrap();
                    at::write_new(new, CHILD, b"").unwrap();
                }
                at::set_mtime(below, name, (*token).into()).unwrap();
            }
        }
        let node = Node {
            kind: *kind,
            token: *token,
        };
        model.directory.insert(name.clone(), node);
    }
}

/// Removes an entry below, as others do.
pub(super) fn remove_below(below: &OwnedFd, name: &[u8], is_dir: bool) {
    if !is_dir {
        at::unlink(below, name).unwrap();
        return;
    }
    let inside = at::open_dir(below, name).unwrap();
    for child in at::list(&inside) {
        at::unlink(&inside, &child).unwrap();
    }
    at::rmdir(below, name).unwrap();
}

/// Which entry a name reaches.
pub(super) fn identify(dir: &OwnedFd, name: &[u8]) -> Result<Node, Errno> {
    let stat = at::stat(dir, name)?;
    let parse = |content: Vec<u8>| {
        let text = String::from_utf8(content).unwrap();
        text.parse().unwrap_or_else(|_| panic!("content {text:?}"))
    };
    let (kind, token) = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => {
            let children = at::list(at::open_dir(dir, name)?);
            let kind = if children.is_empty() {
                Kind::EmptyDirectory
            } else {
                Kind::FullDirectory
            };
            (kind, stat.st_mtime.try_into().unwrap())
        }
        FileType::Symlink => (Kind::Symlink, parse(at::readlink(dir, name)?)),
        _ => (Kind::File, parse(at::read(dir, name)?)),
    };
    Ok(Node { kind, token })
}

/// Equal, but that a name over 255 bytes that is not there may also be called too long, before anything else is wrong: the
/// kernel looks it up first.
pub(super) fn same_outcome(expected: Result<(), Errno>, got: Result<(), Errno>) -> bool {
    let looks_up_first = matches!(expected, Err(Errno::NOENT | Errno::PERM));
    expected == got || (looks_up_first && got == Err(Errno::NAMETOOLONG))
}

pub(super) fn show_all(names: &[Vec<u8>]) -> String {
    let names: Vec<String> = names.iter().map(|name| show(name)).collect();
    format!("[{}]", names.join(", "))
}

pub(super) fn describe(model: &Model) -> String {
    let shown = model.visible();
    let of = |backing: &Vec<u8>| shown.iter().find(|(_, name)| *name == backing);
    let entries: Vec<String> = model
        .directory
        .iter()
        .map(|(name, node)| {
            let visible = of(name).map_or("hidden".to_owned(), |(visible, _)| show(visible));
            format!("{} {:?} {} as {visible}", show(name), node.kind, node.token)
        })
        .collect();
    format!("{{{}}}", entries.join(", "))
}
