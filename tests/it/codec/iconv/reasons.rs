//! Why the C library differs.

/// Stands for GB18030 of a C library that has it as of 2005.
pub(super) const GB_2005: &str = "GB18030 of 2005";
pub(super) const JIS_ROMAN: &str = "ASCII is ASCII in every charset here; JIS X 0201 has the yen sign and the overline in its place";
pub(super) const WINDOWS_31J: &str =
    "ours is Microsoft's, which IANA calls windows-31j; that is the charset of names from Windows";
pub(super) const ETEN: &str = "characters of ETEN and Hong Kong's supplement; for glibc (and Windows) user-defined, as code points for private use";
pub(super) const GB_PRIVATE: &str = "GB 18030 has a code point for private use here, and the ideograph in four bytes; so has glibc since it follows GB 18030-2022";
pub(super) const GB_SWAPPED: &str =
    "code points for private use that GB 18030-2022 gave up for characters";
pub(super) const GB_ELSE: &str =
    "characters of GB18030 and code points for private use in places that GBK leaves empty";
pub(super) const NEC_13: &str = "NEC's row 13";
pub(super) const C1: &str =
    "C1 controls, which EUC takes over from ISO 2022; Windows and the web have none here";
pub(super) const USER: &str = "user-defined, as code points for private use";
pub(super) const HKSCS: &str = "characters of ETEN and Hong Kong's supplement";
pub(super) const APPLE: &str = "as in reading";
pub(super) const TAKEN_APART: &str =
    "written as a letter and marks; reading them again gives other code points";
pub(super) const ONE_WAY: &str =
    "written as another character; reading that again gives another code point";
