//! The bytes of requests, written down from `include/uapi/linux/fuse.h` without the records of [`layout`](crate::fuse::layout).

use proptest::prelude::*;

use crate::fuse::Operation;

/// A part of the arguments of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// `uint32_t`.
    Int,
    /// `uint64_t`.
    Long,
    /// A `uint64_t` that is no negative `loff_t`: the kernel sends no other, and fuser refuses them.
    Offset,
    /// A `uint32_t` that is 0: with other ones fuser does not call its filesystem, or panics.
    Zero,
    /// The length of the [`Data`](Self::Data) at the end, `uint32_t`.
    Size,
    /// A string with its NUL.
    Name,
    /// Bytes at the end.
    Data,
    /// Three times in seconds, then their nanoseconds.
    Times,
    /// A count of inodes, padding, and for each its number and lookups.
    Inodes,
}

use Part::{Data, Inodes, Int, Long, Name, Offset, Size, Times, Zero};

const READ: &[Part] = &[Long, Offset, Int, Int, Long, Int, Int];
const LOCK: &[Part] = &[Long, Long, Long, Long, Int, Int, Int, Int];
const CREATE: &[Part] = &[Int, Int, Int, Int, Name];

/// Each request that is served, with its number.
pub(super) const REQUESTS: &[(Operation, u32, &[Part])] = &[
    (Operation::Lookup, 1, &[Name]),
    (Operation::Forget, 2, &[Long]),
    (Operation::Getattr, 3, &[Int, Int, Long]),
    (
        Operation::Setattr,
        4,
        &[Int, Int, Long, Long, Long, Times, Int, Int, Int, Int, Int],
    ),
    (Operation::Readlink, 5, &[]),
    (Operation::Symlink, 6, &[Name, Name]),
    (Operation::Mknod, 8, &[Int, Int, Int, Int, Name]),
    (Operation::Mkdir, 9, &[Int, Int, Name]),
    (Operation::Unlink, 10, &[Name]),
    (Operation::Rmdir, 11, &[Name]),
    (Operation::Rename, 12, &[Long, Name, Name]),
    (Operation::Link, 13, &[Long, Name]),
    (Operation::Open, 14, &[Int, Int]),
    (Operation::Read, 15, READ),
    (
        Operation::Write,
        16,
        &[Long, Offset, Size, Int, Long, Int, Int, Data],
    ),
    (Operation::Statfs, 17, &[]),
    (Operation::Release, 18, &[Long, Int, Int, Long]),
    (Operation::Fsync, 20, &[Long, Int, Int]),
    (Operation::Setxattr, 21, &[Size, Int, Name, Data]),
    (Operation::Getxattr, 22, &[Int, Int, Name]),
    (Operation::Listxattr, 23, &[Int, Int]),
    (Operation::Removexattr, 24, &[Name]),
    (Operation::Flush, 25, &[Long, Int, Int, Long]),
    (Operation::Opendir, 27, &[Int, Int]),
    (Operation::Readdir, 28, READ),
    (Operation::Releasedir, 29, &[Long, Int, Int, Long]),
    (Operation::Fsyncdir, 30, &[Long, Int, Int]),
    (Operation::Getlk, 31, LOCK),
    (Operation::Setlk, 32, LOCK),
    (Operation::Setlk, 33, LOCK),
    (Operation::Access, 34, &[Int, Int]),
    (Operation::Create, 35, CREATE),
    (Operation::Interrupt, 36, &[Long]),
    (Operation::Bmap, 37, &[Long, Int, Int]),
    (Operation::Ioctl, 39, &[Long, Zero, Int, Long, Zero, Int]),
    (Operation::Poll, 40, &[Long, Long, Int, Int]),
    (Operation::Forget, 42, &[Inodes]),
    (Operation::Fallocate, 43, &[Long, Offset, Offset, Int, Int]),
    (Operation::Readdirplus, 44, READ),
    (Operation::Rename, 45, &[Long, Int, Int, Name, Name]),
    (Operation::Lseek, 46, &[Long, Long, Int, Int]),
    (
        Operation::CopyFileRange,
        47,
        &[Long, Offset, Long, Long, Offset, Long, Long],
    ),
    (Operation::Tmpfile, 51, CREATE),
    (Operation::Statx, 52, &[Int, Int, Long, Int, Int]),
];

/// The values that requests and answers are made of, taken one after the other and again from the start.
#[derive(Debug, Clone)]
pub(super) struct Values {
    words: Vec<u64>,
    names: Vec<Vec<u8>>,
    /// A longer value.
    pub(super) data: Vec<u8>,
    next_word: usize,
    next_name: usize,
}

impl Values {
    /// Returns ordinary, extreme and random values.
    pub(super) fn any() -> impl Strategy<Value = Self> {
        let word = prop_oneof![
            4 => 0..5000_u64,
            1 => prop::sample::select(vec![
                0,
                i32::MAX as u64,
                1 << 31,
                u64::from(u32::MAX),
                i64::MAX as u64,
                1 << 63,
                u64::MAX - 1,
                u64::MAX,
            ]),
            2 => any::<u64>(),
        ];
        let name = prop_oneof![
            4 => "[a-z.]{1,12}".prop_map(String::into_bytes),
            1 => prop::sample::select(vec![vec![], vec![0xFF; 255], vec![b'a'; 4095], b"/".to_vec()]),
            2 => prop::collection::vec(1..=255_u8, 1..256),
        ];
        let data = prop_oneof![
            Just(vec![]),
            prop::collection::vec(any::<u8>(), 1..300),
            Just(vec![7; 1 << 16]),
        ];
        let words = prop::collection::vec(word, 37);
        let names = prop::collection::vec(name, 5);
        (words, names, data).prop_map(|(words, names, data)| Self::new(words, names, data))
    }

    pub(super) fn new(words: Vec<u64>, names: Vec<Vec<u8>>, data: Vec<u8>) -> Self {
        Self {
            words,
            names,
            data,
            next_word: 0,
            next_name: 0,
        }
    }

    pub(super) fn long(&mut self) -> u64 {
        self.next_word += 1;
        self.words[self.next_word % self.words.len()]
    }

    pub(super) fn int(&mut self) -> u32 {
        u32::try_from(self.long() & u64::from(u32::MAX)).unwrap()
    }

    pub(super) fn offset(&mut self) -> u64 {
        self.long() & i64::MAX.cast_unsigned()
    }

    pub(super) fn nanos(&mut self) -> u32 {
        self.int() % 1_000_000_000
    }

    pub(super) fn name(&mut self) -> Vec<u8> {
        self.next_name += 1;
        self.names[self.next_name % self.names.len()].clone()
    }
}

/// A request as the kernel sends it.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) unique: u64,
    pub(super) octets: Vec<u8>,
    /// The length of its first record where that lies apart by a ring; FORGETs do not come by rings.
    pub(super) first_record: Option<usize>,
}

impl Asked {
    /// Makes a request with these parts of arguments.
    pub(super) fn new(opcode: u32, parts: &[Part], values: &mut Values) -> Self {
        let is_batch = parts.contains(&Inodes);
        // The unique of what is never answered, and the inode of FORGETs of several.
        let unique = values.long();
        let node = if is_batch { 0 } else { values.long() };
        let records = parts.iter().take_while(|part| !matches!(part, Name | Data));
        let first_record = records.map(|part| part.length()).sum();
        let body: Vec<u8> = parts.iter().flat_map(|part| part.octets(values)).collect();
        let length = u32::try_from(40 + body.len()).unwrap();
        let mut octets = [length.to_ne_bytes(), opcode.to_ne_bytes()].concat();
        octets.extend([unique.to_ne_bytes(), node.to_ne_bytes()].concat());
        for _id in ["uid", "gid", "pid"] {
            octets.extend(values.int().to_ne_bytes());
        }
        octets.extend([0; 4]);
        octets.extend(body);
        Self {
            unique,
            octets,
            first_record: (!is_batch).then_some(first_record),
        }
    }

    /// The same request under another number.
    pub(super) fn with_opcode(&self, opcode: u32) -> Self {
        let mut octets = self.octets.clone();
        octets[4..8].copy_from_slice(&opcode.to_ne_bytes());
        Self { octets, ..*self }
    }

    /// The same request without its last byte, whose length says so.
    pub(super) fn cut_short(&self) -> Self {
        let mut octets = self.octets.clone();
        octets.pop();
        let length = u32::try_from(octets.len()).unwrap();
        octets[..4].copy_from_slice(&length.to_ne_bytes());
        Self { octets, ..*self }
    }
}

impl Part {
    /// Returns the length of a part of a record; 0 for others.
    fn length(self) -> usize {
        match self {
            Int | Zero | Size => 4,
            Long | Offset => 8,
            Times => 3 * (8 + 4),
            Name | Data | Inodes => 0,
        }
    }

    fn octets(self, values: &mut Values) -> Vec<u8> {
        match self {
            Int => values.int().to_ne_bytes().to_vec(),
            Long => values.long().to_ne_bytes().to_vec(),
            Offset => values.offset().to_ne_bytes().to_vec(),
            Zero => vec![0; 4],
            Size => u32::try_from(values.data.len())
                .unwrap()
                .to_ne_bytes()
                .to_vec(),
            Name => [values.name(), vec![0]].concat(),
            Data => values.data.clone(),
            Times => times(values),
            Inodes => inodes(values),
        }
    }
}

/// Times that fuser carries: before 1970 only whole seconds.
fn times(values: &mut Values) -> Vec<u8> {
    let seconds = [(); 3].map(|()| values.long().cast_signed().max(-i64::MAX));
    let nanos = seconds.map(|seconds| match seconds < 0 {
        true => 0,
        false => values.nanos(),
    });
    [
        seconds.map(i64::to_ne_bytes).concat(),
        nanos.map(u32::to_ne_bytes).concat(),
    ]
    .concat()
}

fn inodes(values: &mut Values) -> Vec<u8> {
    let count = values.int() % 5;
    let mut octets = [count.to_ne_bytes(), [0; 4]].concat();
    for _number_and_lookups in 0..2 * count {
        octets.extend(values.long().to_ne_bytes());
    }
    octets
}
