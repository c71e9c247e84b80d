//! Random numbers that are the same everywhere: xorshift64*, of Vigna, "An experimental exploration of
//! Marsaglia's xorshift generators, scrambled" (2016).

/// A generator; equal seeds give equal numbers.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.max(1))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// An octet that a name can hold.
    pub(crate) fn octet(&mut self) -> u8 {
        loop {
            let octet = u8::try_from(self.below(256)).unwrap();
            if octet != 0 && octet != b'/' {
                return octet;
            }
        }
    }
}
