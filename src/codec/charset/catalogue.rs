//! The allow-list (law C4): every charset on offer, its other names and where its tables are.

use std::sync::OnceLock;

use super::multi_byte::MultiByte;
use super::single_byte::{Source, Table};

/// A charset on offer.
pub(super) struct CatalogueEntry {
    /// IANA's preferred name in lower case, or the usual one where IANA has none.
    pub(super) label: &'static str,
    /// IANA's aliases and what Windows, glibc and Python call it, between spaces.
    pub(super) aliases: &'static str,
    pub(super) tables: Tables,
}

/// The tables of a charset.
pub(super) enum Tables {
    /// A byte per character; the table is made when it is first used.
    SingleByte(Lazy),
    /// Up to four bytes per character.
    MultiByte(MultiByte),
}

/// A table, the label of its charset, and what it is made of.
pub(super) struct Lazy {
    label: &'static str,
    source: Source,
    table: OnceLock<Table>,
}

impl Lazy {
    pub(super) fn get(&self) -> &Table {
        let make = || Table::new(self.source, self.label);
        self.table.get_or_init(make)
    }
}

/// A charset of one byte per character.
const fn single(label: &'static str, aliases: &'static str, source: Source) -> CatalogueEntry {
    let table = OnceLock::new();
    CatalogueEntry {
        label,
        aliases,
        tables: Tables::SingleByte(Lazy {
            label,
            source,
            table,
        }),
    }
}

/// A charset of several bytes per character.
const fn multi(label: &'static str, aliases: &'static str, charset: MultiByte) -> CatalogueEntry {
    CatalogueEntry {
        label,
        aliases,
        tables: Tables::MultiByte(charset),
    }
}

pub(super) static CATALOGUE: [CatalogueEntry; 52] = [
    single(
        "iso-8859-1",
        "iso_8859-1:1987 iso-ir-100 latin1 l1 ibm819 cp819 csISOLatin1 8859-1",
        Source::Iso,
    ),
    single(
        "iso-8859-2",
        "iso_8859-2:1987 iso-ir-101 latin2 l2 ibm912 cp912 csISOLatin2 8859-2",
        Source::Iso,
    ),
    single(
        "iso-8859-3",
        "iso_8859-3:1988 iso-ir-109 latin3 l3 ibm913 cp913 csISOLatin3 8859-3",
        Source::Iso,
    ),
    single(
        "iso-8859-4",
        "iso_8859-4:1988 iso-ir-110 latin4 l4 ibm914 cp914 csISOLatin4 8859-4",
        Source::Iso,
    ),
    single(
        "iso-8859-5",
        "iso_8859-5:1988 iso-ir-144 cyrillic ibm915 cp915 csISOLatinCyrillic 8859-5",
        Source::Iso,
    ),
    single(
        "iso-8859-6",
        "iso_8859-6:1987 iso-ir-127 arabic asmo-708 ecma-114 ibm1089 csISOLatinArabic iso-8859-6-i iso-8859-6-e 8859-6",
        Source::Iso,
    ),
    single(
        "iso-8859-7",
        "iso_8859-7:1987 iso_8859-7:2003 iso-ir-126 greek greek8 elot-928 ecma-118 csISOLatinGreek 8859-7",
        Source::Iso,
    ),
    single(
        "iso-8859-8",
        "iso_8859-8:1988 iso-ir-138 hebrew ibm916 cp916 csISOLatinHebrew iso-8859-8-i iso-8859-8-e 8859-8",
        Source::Iso,
    ),
    single(
        "iso-8859-9",
        "iso_8859-9:1989 iso-ir-148 latin5 l5 ibm920 cp920 csISOLatin5 8859-9",
        Source::Iso,
    ),
    single(
        "iso-8859-10",
        "iso_8859-10:1992 iso-ir-157 latin6 l6 csISOLatin6 8859-10",
        Source::Iso,
    ),
    single(
        "iso-8859-11",
        "iso_8859-11:2001 iso-ir-166 tis-620 csTIS620 thai 8859-11",
        Source::Iso,
    ),
    single(
        "iso-8859-13",
        "iso-ir-179 latin7 l7 csISO885913 8859-13",
        Source::Iso,
    ),
    single(
        "iso-8859-14",
        "iso_8859-14:1998 iso-ir-199 latin8 l8 iso-celtic csISO885914 8859-14",
        Source::Iso,
    ),
    single(
        "iso-8859-15",
        "iso_8859-15:1998 iso-ir-203 latin9 l9 ibm923 cp923 csISO885915 8859-15",
        Source::Iso,
    ),
    single(
        "iso-8859-16",
        "iso_8859-16:2001 iso-ir-226 latin10 l10 csISO885916 8859-16",
        Source::Iso,
    ),
    single(
        "windows-874",
        "cp874 ms874 874 dos-874 csWindows874",
        Source::Vendor,
    ),
    single(
        "windows-1250",
        "cp1250 x-cp1250 ms1250 1250 csWindows1250 ms-ee",
        Source::Vendor,
    ),
    single(
        "windows-1251",
        "cp1251 x-cp1251 ms1251 1251 csWindows1251 ms-cyrl",
        Source::Vendor,
    ),
    single(
        "windows-1252",
        "cp1252 x-cp1252 ms1252 1252 csWindows1252 ms-ansi",
        Source::Vendor,
    ),
    single(
        "windows-1253",
        "cp1253 x-cp1253 ms1253 1253 csWindows1253 ms-greek",
        Source::Vendor,
    ),
    single(
        "windows-1254",
        "cp1254 x-cp1254 ms1254 1254 csWindows1254 ms-turk",
        Source::Vendor,
    ),
    single(
        "windows-1255",
        "cp1255 x-cp1255 ms1255 1255 csWindows1255 ms-hebr",
        Source::Vendor,
    ),
    single(
        "windows-1256",
        "cp1256 x-cp1256 ms1256 1256 csWindows1256 ms-arab",
        Source::Vendor,
    ),
    single(
        "windows-1257",
        "cp1257 x-cp1257 ms1257 1257 csWindows1257 winbaltrim",
        Source::Vendor,
    ),
    single(
        "windows-1258",
        "cp1258 x-cp1258 ms1258 1258 csWindows1258",
        Source::Vendor,
    ),
    single("koi8-r", "koi8 koi csKOI8R cp878 ibm878", Source::Vendor),
    single("koi8-u", "csKOI8U cp1168 ibm1168", Source::Koi8U),
    single(
        "macintosh",
        "mac mac-roman x-mac-roman csMacintosh cp10000",
        Source::Vendor,
    ),
    single(
        "x-mac-cyrillic",
        "mac-cyrillic x-mac-ukrainian mac-ukrainian cp10007 cp10017",
        Source::Vendor,
    ),
    single("ibm437", "cp437 437 csPC8CodePage437", Source::Dos(437)),
    single("cp720", "ibm720 720", Source::Dos(720)),
    single("cp737", "ibm737 737", Source::Dos(737)),
    single("ibm775", "cp775 775 csPC775Baltic", Source::Dos(775)),
    single("ibm850", "cp850 850 csPC850Multilingual", Source::Dos(850)),
    single("ibm852", "cp852 852 csPCp852", Source::Dos(852)),
    single("ibm855", "cp855 855 csIBM855", Source::Dos(855)),
    single("ibm857", "cp857 857 csIBM857", Source::Dos(857)),
    single(
        "ibm00858",
        "cp858 ibm858 858 ccsid00858 cp00858 pc-multilingual-850+euro",
        Source::Dos(858),
    ),
    single("ibm860", "cp860 860 csIBM860", Source::Dos(860)),
    single("ibm861", "cp861 861 csIBM861 cp-is", Source::Dos(861)),
    single("ibm862", "cp862 862 csPC862LatinHebrew", Source::Dos(862)),
    single("ibm863", "cp863 863 csIBM863", Source::Dos(863)),
    single("ibm864", "cp864 864 csIBM864", Source::Dos(864)),
    single("ibm865", "cp865 865 csIBM865", Source::Dos(865)),
    single("ibm866", "cp866 866 csIBM866", Source::Dos(866)),
    single("ibm869", "cp869 869 csIBM869 cp-gr", Source::Dos(869)),
    multi(
        "shift_jis",
        "sjis x-sjis ms-kanji csShiftJIS windows-31j csWindows31J cp932 ms932 windows-932",
        MultiByte::ShiftJis,
    ),
    multi(
        "euc-jp",
        "x-euc-jp ujis csEUCPkdFmtJapanese Extended_UNIX_Code_Packed_Format_for_Japanese",
        MultiByte::EucJp,
    ),
    multi(
        "euc-kr",
        "csEUCKR ks_c_5601-1987 ks_c_5601-1989 ks_c_5601 ksc5601 iso-ir-149 csKSC56011987 korean cp949 ms949 windows-949 uhc",
        MultiByte::EucKr,
    ),
    multi(
        "gbk",
        "cp936 ms936 windows-936 x-gbk csGBK gb2312 csGB2312 euc-cn",
        MultiByte::Gbk,
    ),
    multi(
        "gb18030",
        "csGB18030 cp54936 windows-54936",
        MultiByte::Gb18030,
    ),
    multi(
        "big5",
        "csBig5 cn-big5 x-x-big5 big-five cp950 ms950 windows-950",
        MultiByte::Big5,
    ),
];
