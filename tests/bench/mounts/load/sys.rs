//! What the standard library has no function for.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub const PAGE: usize = 4096;

mod c {
    #[repr(C)]
    pub struct Timespec {
        pub seconds: i64,
        pub nanoseconds: i64,
    }
    pub const AT_FDCWD: i32 = -100;
    pub const AT_SYMLINK_NOFOLLOW: i32 = 0x100;
    pub const CLOCK_PROCESS_CPUTIME_ID: i32 = 2;
    pub const PROT_READ: i32 = 1;
    pub const PROT_WRITE: i32 = 2;
    pub const MAP_SHARED: i32 = 1;
    pub const MS_SYNC: i32 = 4;
    unsafe extern "C" {
        pub fn fstatat(directory: i32, path: *const i8, stat: *mut u64, flags: i32) -> i32;
        pub fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
        pub fn mmap(
            at: *mut u8,
            length: usize,
            protection: i32,
            flags: i32,
            file: i32,
            offset: i64,
        ) -> *mut u8;
        pub fn mount(
            source: *const i8,
            target: *const i8,
            kind: *const i8,
            flags: u64,
            data: *const i8,
        ) -> i32;
        pub fn munmap(at: *mut u8, length: usize) -> i32;
        pub fn msync(at: *mut u8, length: usize, flags: i32) -> i32;
    }
}

/// What ls(1), find(1) and du(1) do. The standard library's way asks for the birth time as well.
pub fn stat(path: &CString) -> io::Result<()> {
    // Larger than any `struct stat`.
    let mut answer = [0_u64; 64];
    // SAFETY: the path ends in NUL, and the answer fits.
    let result = unsafe {
        c::fstatat(
            c::AT_FDCWD,
            path.as_ptr().cast(),
            answer.as_mut_ptr(),
            c::AT_SYMLINK_NOFOLLOW,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Mounts what is served at the other end of `device`, which is open as `/dev/fuse`.
pub fn mount_fuse(mountpoint: &Path, device: i32) -> io::Result<()> {
    let target = CString::new(mountpoint.as_os_str().as_bytes())?;
    let data = format!("fd={device},rootmode=40000,user_id=0,group_id=0,allow_other");
    let data = CString::new(data)?;
    // SAFETY: all strings end in NUL, and are only read.
    let result = unsafe {
        c::mount(
            c"delay".as_ptr().cast(),
            target.as_ptr().cast(),
            c"fuse.delay".as_ptr().cast(),
            0,
            data.as_ptr().cast(),
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// CPU time of this process in nanoseconds.
pub fn cpu_time() -> io::Result<u64> {
    let mut time = c::Timespec {
        seconds: 0,
        nanoseconds: 0,
    };
    // SAFETY: the clock exists, and the time is ours to write.
    if unsafe { c::clock_gettime(c::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((time.seconds * 1_000_000_000 + time.nanoseconds) as u64)
}

/// Maps the file shared, and reads or changes a byte of each page; changes are written back before it is unmapped.
pub fn touch_pages(file: &File, length: usize, write: bool) -> io::Result<()> {
    let protection = if write {
        c::PROT_READ | c::PROT_WRITE
    } else {
        c::PROT_READ
    };
    // SAFETY: a new mapping at a place of the kernel's choice touches no memory of ours.
    let start = unsafe {
        c::mmap(
            std::ptr::null_mut(),
            length,
            protection,
            c::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    if start as isize == -1 {
        return Err(io::Error::last_os_error());
    }
    let mut sum = 0_u8;
    for offset in (0..length).step_by(PAGE) {
        // SAFETY: within the mapping, which nothing else has, and the file is that long.
        let page = unsafe { start.add(offset) };
        if write {
            // SAFETY: as above, and the mapping may be written.
            unsafe { page.write_volatile(offset as u8) };
        } else {
            // SAFETY: as above.
            sum = sum.wrapping_add(unsafe { page.read_volatile() });
        }
    }
    std::hint::black_box(sum);
    // SAFETY: the mapping made above.
    let written = !write || unsafe { c::msync(start, length, c::MS_SYNC) } == 0;
    let error = io::Error::last_os_error();
    // SAFETY: the same, used no more.
    unsafe { c::munmap(start, length) };
    if written { Ok(()) } else { Err(error) }
}
