use std::cell::Cell;
use std::os::fd::OwnedFd;

use super::*;
use crate::backing::Stat;

enum Sort {
    Plain,
    SetId,
    AppendOnly,
}

fn open(sort: Sort, writes: bool, as_root: bool) -> Opened {
    let backing_file = Arc::new(OwnedFd::from(tempfile::tempfile().unwrap()));
    let mut stat = Stat::of(&*backing_file).unwrap();
    match sort {
        Sort::Plain => {}
        Sort::SetId => stat.mode |= libc::S_ISUID,
        Sort::AppendOnly => stat.is_append_only = true,
    }
    Opened {
        handle: 0,
        inode: (7, 0),
        stat,
        writes,
        backing_file,
        identity: Some((u32::from(!as_root), 0)),
        closes_quietly: false,
        is_mappable: false,
    }
}

fn refused() -> io::Result<u32> {
    Err(io::Error::from_raw_os_error(libc::EPERM))
}

#[test]
fn all_opens_of_an_inode_share_one_backing_file_until_the_last_is_closed() {
    let serving = Serving::default();
    let told = Cell::new(0);
    let tell = || {
        told.set(told.get() + 1);
        Ok(told.get())
    };
    let plain = open(Sort::Plain, true, true);
    assert_eq!(serving.enter(&plain, tell), Way::Kernel(Arc::new(1)));
    assert_eq!(serving.enter(&plain, tell), Way::Kernel(Arc::new(1)));
    serving.leave(plain.inode);
    assert_eq!(serving.enter(&plain, tell), Way::Kernel(Arc::new(1)));
    let mut other = open(Sort::Plain, true, true);
    other.inode = (7, 1);
    assert_eq!(serving.enter(&other, tell), Way::Kernel(Arc::new(2)));
    serving.leave(plain.inode);
    serving.leave(plain.inode);
    assert_eq!(serving.enter(&plain, tell), Way::Kernel(Arc::new(3)));
}

#[test]
fn what_the_kernel_does_not_take_stays_with_us_until_the_last_is_closed() {
    let serving = Serving::default();
    let plain = open(Sort::Plain, true, true);
    assert_eq!(serving.enter(&plain, refused), Way::Cached);
    assert_eq!(serving.enter(&plain, || Ok(1)), Way::Cached);
    serving.leave(plain.inode);
    serving.leave(plain.inode);
    assert_eq!(serving.enter(&plain, || Ok(2)), Way::Kernel(Arc::new(2)));
}

#[test]
fn a_backing_file_that_was_told_for_root_takes_no_writes_of_others() {
    let kernel = || Way::Kernel(Arc::new(1));
    let asked = || Way::KernelButAsked(Arc::new(1));
    // as_root of the first and of the second, is the second open for writing?
    for (first, second, writes, way) in [
        (true, true, true, kernel()),
        (true, false, false, kernel()),
        (true, false, true, asked()),
        (false, true, true, asked()),
        (false, false, true, kernel()),
    ] {
        let serving = Serving::default();
        serving.enter(&open(Sort::Plain, false, first), || Ok(1));
        let second = open(Sort::Plain, writes, second);
        assert_eq!(serving.enter(&second, refused), way);
    }
}

#[test]
fn writes_that_are_to_come_to_us_do_so_beside_readers_that_the_kernel_serves() {
    let serving = Serving::default();
    let reader = open(Sort::SetId, false, false);
    assert_eq!(serving.enter(&reader, || Ok(1)), Way::Kernel(Arc::new(1)));
    let writer = open(Sort::SetId, true, false);
    assert_eq!(
        serving.enter(&writer, refused),
        Way::KernelButAsked(Arc::new(1))
    );
}

#[test]
fn a_file_that_can_only_be_appended_to_is_not_mapped_for_writing() {
    let serving = Serving::default();
    let (reader, writer) = (
        open(Sort::AppendOnly, false, true),
        open(Sort::AppendOnly, true, true),
    );
    assert_eq!(serving.enter(&reader, || Ok(1)), Way::Cached);
    assert_eq!(serving.enter(&writer, || Ok(1)), Way::Asked);
    // One that became so while it was open: the others have its backing file.
    let serving = Serving::default();
    serving.enter(&open(Sort::Plain, false, true), || Ok(1));
    assert_eq!(serving.enter(&reader, refused), Way::Kernel(Arc::new(1)));
    assert_eq!(
        serving.enter(&writer, refused),
        Way::KernelButAsked(Arc::new(1))
    );
}
