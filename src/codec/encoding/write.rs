//! From code points to octets.

use super::{Encoding, Scheme, draft, octets, units};

impl Encoding {
    /// The octets of `code_points`.
    ///
    /// A high surrogate before a low one encodes that pair's one character in `mutf-8`, where the octets are the
    /// same, and in `wtf-8`, which cannot write them otherwise.
    ///
    /// # Errors
    /// The index of the first code point that it lacks.
    pub fn encode(self, code_points: &[u32]) -> Result<Vec<u8>, usize> {
        let mut bytes = Vec::with_capacity(code_points.len());
        self.encode_into(code_points, &mut bytes)?;
        Ok(bytes)
    }

    /// Adds the octets of `code_points` to `bytes`.
    ///
    /// # Errors
    /// The index of the first code point that it lacks; what comes before it was added.
    pub fn encode_into(self, code_points: &[u32], bytes: &mut Vec<u8>) -> Result<(), usize> {
        let push: &dyn Fn(u32, &mut Vec<u8>) -> Option<()> = match self.scheme() {
            Scheme::Octets(rules) => &|c, bytes| octets::push(c, rules, bytes),
            Scheme::Draft => &draft::push,
            Scheme::Units(unit, order) => &move |c, bytes| units::push(c, unit, order, bytes),
        };
        for (index, &code_point) in code_points.iter().enumerate() {
            push(code_point, bytes).ok_or(index)?;
        }
        Ok(())
    }
}
