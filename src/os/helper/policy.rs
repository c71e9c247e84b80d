//! Reading the policy, in chunks.

use std::io;

use parking_lot::Mutex;

use super::{Answer, HELPER, LONGEST, garbled};

/// The request, before the offset in four octets.
pub(super) const READ: u8 = b'r';

/// Most octets of an answer's text.
const CHUNK: usize = LONGEST - 1;

/// The text that the helper process has read last, in its own process.
static READ_LAST: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// The policy as [`super::Errands::read_policy`] reads it now; `None` without a helper process.
///
/// # Errors
/// `EPIPE` if the helper process is gone.
pub fn read_policy() -> Option<io::Result<Vec<u8>>> {
    let line = &HELPER.get()?.policy;
    let read = || {
        let mut text = Vec::new();
        loop {
            let offset = u32::try_from(text.len()).map_err(|_too_long| garbled())?;
            let mut request = vec![READ];
            request.extend(offset.to_le_bytes());
            let (chunk, _none) = line.ask(&request)?;
            let length = chunk.len();
            text.extend(chunk);
            if length < CHUNK {
                return Ok(text);
            }
        }
    };
    Some(read())
}

/// Answers a request: the text from an offset on, read anew where that is 0.
pub(super) fn answer(offset: &[u8], read: impl FnOnce() -> Vec<u8>) -> io::Result<Answer> {
    let offset = offset.try_into().map(u32::from_le_bytes);
    let offset = offset.map_err(|_short| garbled())?;
    let mut text = READ_LAST.lock();
    if offset == 0 {
        *text = read();
    }
    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
    let rest = text.get(offset..).unwrap_or_default();
    let chunk = rest.get(..CHUNK).unwrap_or(rest);
    Ok((chunk.to_vec(), None))
}
