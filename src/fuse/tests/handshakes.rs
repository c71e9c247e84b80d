//! Handshakes with kernels of any version, over a pair of sockets.

use std::os::unix::net::UnixDatagram;
use std::sync::Arc;

use super::*;
use crate::fuse::samples::service;

const INIT: u32 = 26;
const LOOKUP: u32 = 1;

/// Offsets in `struct fuse_init_out`, behind the header of the answer.
const MAX_READAHEAD: usize = 16 + 8;
const FLAGS: usize = 16 + 12;
const LIMITS: usize = 16 + 16;
const WRITE: usize = 16 + 20;
const PAGES: usize = 16 + 28;
const MORE_FLAGS: usize = 16 + 32;
const STACK_DEPTH: usize = 16 + 36;

/// A kernel that speaks a version and has features.
#[derive(Clone, Copy)]
struct Kernel {
    version: (u32, u32),
    max_readahead: u32,
    features: InitFlags,
}

/// The oldest kernel that we take, with all features of later ones.
const KERNEL: Kernel = Kernel {
    version: (7, 28),
    max_readahead: 131_072,
    features: InitFlags::all(),
};

impl Kernel {
    fn request(self, opcode: u32) -> Vec<u8> {
        let (major, minor) = self.version;
        let [low, high] = [0, 32].map(|shift| {
            let half = self.features.bits() >> shift & u64::from(u32::MAX);
            u32::try_from(half).unwrap()
        });
        let mut fields = vec![104, opcode, 7, 0, 0, 0, 0, 0, 0, 0];
        fields.extend([major, minor, self.max_readahead, low, high]);
        fields.resize(104 / 4, 0);
        fields.into_iter().flat_map(u32::to_ne_bytes).collect()
    }
}

/// Returns what a handshake comes to, with rings, and the answers that the kernel gets to its requests.
fn shake_hands(requests: &[Vec<u8>]) -> (io::Result<Handshake>, Vec<Vec<u8>>) {
    let below = tempfile::tempdir().unwrap();
    let fs = Arc::clone(&service(below.path(), 1).coherence.fs);
    let (kernel, daemon) = UnixDatagram::pair().unwrap();
    kernel.set_nonblocking(true).unwrap();
    for request in requests {
        kernel.send(request).unwrap();
    }
    let handshake = Handshake::agree(daemon.into(), &fs, Passthrough::Auto, true);
    let mut answers = Vec::new();
    let mut answer = [0; 4096];
    while let Ok(length) = kernel.recv(&mut answer) {
        answers.push(answer[..length].to_vec());
    }
    (handshake, answers)
}

fn int(answer: &[u8], offset: usize) -> u32 {
    u32::from_ne_bytes(answer[offset..offset + 4].try_into().unwrap())
}

fn short(answer: &[u8], offset: usize) -> u16 {
    u16::from_ne_bytes(answer[offset..offset + 2].try_into().unwrap())
}

fn flags(answer: &[u8]) -> InitFlags {
    let (low, high) = (int(answer, FLAGS), int(answer, MORE_FLAGS));
    InitFlags::from_bits_retain(u64::from(high) << 32 | u64::from(low))
}

#[test]
fn features_that_the_kernel_has_are_enabled_with_our_limits() {
    let (handshake, answers) = shake_hands(&[KERNEL.request(INIT)]);
    let handshake = handshake.unwrap();
    let answer = &answers[0];
    assert_eq!((answers.len(), answer.len()), (1, 16 + 64));
    assert!(
        flags(answer).contains(MISSED | InitFlags::FUSE_MAX_PAGES | InitFlags::FUSE_ASYNC_READ)
    );
    assert!(
        flags(answer).contains(InitFlags::FUSE_OVER_IO_URING | InitFlags::FUSE_HAS_EXPIRE_ONLY)
    );
    assert!(!flags(answer).intersects(
        InitFlags::FUSE_WRITEBACK_CACHE
            | InitFlags::FUSE_ATOMIC_O_TRUNC
            | InitFlags::FUSE_SETXATTR_EXT
            | InitFlags::FUSE_SECURITY_CTX
            | InitFlags::FUSE_EXPORT_SUPPORT
    ));
    assert_eq!(int(answer, MAX_READAHEAD), KERNEL.max_readahead);
    let limits = (short(answer, LIMITS), short(answer, LIMITS + 2));
    assert_eq!(limits, (MAX_BACKGROUND, CONGESTED));
    assert_eq!(int(answer, WRITE), MAX_WRITE);
    let has_passthrough = flags(answer).contains(InitFlags::FUSE_PASSTHROUGH);
    assert_eq!(handshake.passthrough, has_passthrough);
    let may_have_passthrough = Privilege::of_thread() == Privilege::Root;
    assert_eq!(has_passthrough, may_have_passthrough);
    // Nothing of ours may lie on the backing directory but what one layer allows.
    assert_eq!(int(answer, STACK_DEPTH), u32::from(has_passthrough));
    assert!(handshake.expires_names);
}

/// The kernel refuses a ring whose slots have room for less than `max_pages`.
#[test]
fn a_slot_of_a_ring_holds_all_pages_of_a_request_however_far_the_kernel_reads_ahead() {
    for max_readahead in [0, 4096, 131_072, MAX_WRITE, 16 * MAX_WRITE, u32::MAX] {
        let kernel = Kernel {
            max_readahead,
            ..KERNEL
        };
        let (handshake, answers) = shake_hands(&[kernel.request(INIT)]);
        let pages = usize::from(short(&answers[0], PAGES));
        let payload = handshake.unwrap().ring_payload;
        assert_eq!(payload, Some(pages * page_size()), "{max_readahead}");
        let answered = int(&answers[0], MAX_READAHEAD);
        assert_eq!(answered, max_readahead.min(MAX_WRITE));
    }
}

#[test]
fn features_that_the_kernel_lacks_are_done_without() {
    let lacked = InitFlags::FUSE_INIT_EXT | InitFlags::FUSE_PARALLEL_DIROPS;
    let kernel = Kernel {
        features: KERNEL.features - lacked,
        ..KERNEL
    };
    let (handshake, answers) = shake_hands(&[kernel.request(INIT)]);
    let handshake = handshake.unwrap();
    // Without FUSE_INIT_EXT the second half of the features means nothing.
    assert_eq!(int(&answers[0], MORE_FLAGS), 0);
    let enabled = (handshake.passthrough, handshake.expires_names);
    assert_eq!((enabled, handshake.ring_payload), ((false, false), None));
    assert!(!flags(&answers[0]).contains(InitFlags::FUSE_PARALLEL_DIROPS));
    assert!(flags(&answers[0]).contains(InitFlags::FUSE_DO_READDIRPLUS));
}

#[test]
fn features_that_are_missed_are_named() {
    let offered = KERNEL.features - InitFlags::FUSE_PARALLEL_DIROPS;
    assert_eq!(missing_features(offered), ["FUSE_PARALLEL_DIROPS"]);
    assert!(missing_features(MISSED).is_empty());
}

#[test]
fn a_kernel_that_is_too_old_is_refused_and_told_so() {
    for version in [(7, 27), (7, 5), (6, 99)] {
        let kernel = Kernel { version, ..KERNEL };
        let (handshake, answers) = shake_hands(&[kernel.request(INIT)]);
        let refused = handshake.unwrap_err().raw_os_error();
        assert_eq!(refused, Some(libc::EPROTO), "{version:?}");
        assert_eq!(int(&answers[0], 4).cast_signed(), -libc::EPROTO);
    }
}

/// It answers with a version that both know (`process_init_reply` in `fs/fuse/inode.c`).
#[test]
fn a_kernel_of_a_later_protocol_is_told_ours_and_asks_again() {
    let later = Kernel {
        version: (8, 1),
        ..KERNEL
    };
    let (handshake, answers) = shake_hands(&[later.request(INIT), KERNEL.request(INIT)]);
    handshake.unwrap();
    assert_eq!(answers.len(), 2);
    assert_eq!((int(&answers[0], 4), int(&answers[0], 16)), (0, 7));
}

#[test]
fn a_request_before_the_handshake_is_an_error_of_the_protocol() {
    let (handshake, answers) = shake_hands(&[KERNEL.request(LOOKUP)]);
    let refused = handshake.unwrap_err().raw_os_error();
    assert_eq!(refused, Some(libc::EPROTO));
    assert_eq!(int(&answers[0], 4).cast_signed(), -libc::EIO);
}

#[test]
fn a_mount_that_is_gone_before_the_handshake_has_the_error_of_the_device() {
    let gone = io::Error::new(io::ErrorKind::NotConnected, "gone");
    assert_eq!(with_number(gone).raw_os_error(), Some(libc::ENODEV));
    let busy = io::Error::from_raw_os_error(libc::EBUSY);
    assert_eq!(with_number(busy).raw_os_error(), Some(libc::EBUSY));
    let other = with_number(io::Error::other("another"));
    assert_eq!(other.to_string(), "another");
}
