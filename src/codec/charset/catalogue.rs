//! The allow-list (law C4): every charset on offer, its other names and where its tables are.

use std::sync::OnceLock;

use oem_cp::code_table;
use oem_cp::code_table_type::TableType;

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

/// A table and what it is made of.
pub(super) struct Lazy {
    source: Source,
    table: OnceLock<Table>,
}

impl Lazy {
    pub(super) fn get(&self) -> &Table {
        self.table.get_or_init(|| Table::new(&self.source))
    }
}

/// Shorter spelling of a `Tables::SingleByte`.
const fn single(source: Source) -> Tables {
    Tables::SingleByte(Lazy {
        source,
        table: OnceLock::new(),
    })
}

/// Shorter spelling of a `Tables::MultiByte`.
const fn multi(charset: MultiByte) -> Tables {
    Tables::MultiByte(charset)
}

/// ISO-8859-9 is ISO-8859-1 but for these six.
const TURKISH: [(u8, char); 6] = [
    (0xD0, 'Ğ'),
    (0xDD, 'İ'),
    (0xDE, 'Ş'),
    (0xF0, 'ğ'),
    (0xFD, 'ı'),
    (0xFE, 'ş'),
];

/// KOI8-U by RFC 2319; the library has the Belarusian short u here.
const RFC_2319: [(u8, char); 2] = [(0xAE, '╝'), (0xBE, '╬')];

pub(super) static CATALOGUE: [CatalogueEntry; 52] = [
    CatalogueEntry {
        label: "iso-8859-1",
        aliases: "iso_8859-1:1987 iso-ir-100 latin1 l1 ibm819 cp819 csISOLatin1 8859-1",
        tables: single(Source::Latin1(&[])),
    },
    CatalogueEntry {
        label: "iso-8859-2",
        aliases: "iso_8859-2:1987 iso-ir-101 latin2 l2 ibm912 cp912 csISOLatin2 8859-2",
        tables: single(Source::Iso(&encoding_rs::ISO_8859_2_INIT)),
    },
    CatalogueEntry {
        label: "iso-8859-3",
        aliases: "iso_8859-3:1988 iso-ir-109 latin3 l3 ibm913 cp913 csISOLatin3 8859-3",
        tables: single(Source::Iso(&encoding_rs::ISO_8859_3_INIT)),
    },
    CatalogueEntry {
        label: "iso-8859-4",
        aliases: "iso_8859-4:1988 iso-ir-110 latin4 l4 ibm914 cp914 csISOLatin4 8859-4",
        tables: single(Source::Iso(&encoding_rs::ISO_8859_4_INIT)),
    },
    CatalogueEntry {
        label: "iso-8859-5",
        aliases: "iso_8859-5:1988 iso-ir-144 cyrillic ibm915 cp915 csISOLatinCyrillic 8859-5",
        tables: single(Source::Iso(&encoding_rs::ISO_8859_5_INIT)),
    },
    CatalogueEntry {
        label: "iso-8859-6",
        aliases: "iso_8859-6:1987 iso-ir-127 arabic asmo-708 ecma-114 ibm1089 csISOLatinArabic iso-8859-6-i iso-8859-6-e 8859-6",
        tables: single(Source::Iso(&encoding_rs::ISO_8859_6_INIT)),
    },
    CatalogueEntry {
        label: "iso-8859-7",
        aliases: "iso_8859-7:1987 iso_8859-7:2003 iso-ir-126 greek greek8 elot-928 ecma-118 csISOLatinGreek 8859-7",
        tables: single(Source::Iso(&encoding_rs::ISO_8859_7_INIT)),
    },
    CatalogueEntry {
        label: "iso-8859-8",
        aliases: "iso_8859-8:1988 iso-ir-138 hebrew ibm916 cp916 csISOLatinHebrew iso-8859-8-i iso-8859-8-e 8859-8",
        tables: single(Source::Iso(&encoding_rs::ISO_8859_8_INIT)),
    },
    CatalogueEntry {
        label: "iso-8859-9",
        aliases: "iso_8859-9:1989 iso-ir-148 latin5 l5 ibm920 cp920 csISOLatin5 8859-9",
        tables: single(Source::Latin1(&TURKISH)),
    },
    CatalogueEntry {
        label: "iso-8859-10",
        aliases: "iso_8859-10:1992 iso-ir-157 latin6 l6 csISOLatin6 8859-10",
        tables: single(Source::Iso(&encoding_rs::ISO_8859_10_INIT)),
    },
    CatalogueEntry {
        label: "iso-8859-11",
        aliases: "iso_8859-11:2001 iso-ir-166 tis-620 csTIS620 thai 8859-11",
        tables: single(Source::Thai),
    },
    CatalogueEntry {
        label: "iso-8859-13",
        aliases: "iso-ir-179 latin7 l7 csISO885913 8859-13",
        tables: single(Source::Iso(&encoding_rs::ISO_8859_13_INIT)),
    },
    CatalogueEntry {
        label: "iso-8859-14",
        aliases: "iso_8859-14:1998 iso-ir-199 latin8 l8 iso-celtic csISO885914 8859-14",
        tables: single(Source::Iso(&encoding_rs::ISO_8859_14_INIT)),
    },
    CatalogueEntry {
        label: "iso-8859-15",
        aliases: "iso_8859-15:1998 iso-ir-203 latin9 l9 ibm923 cp923 csISO885915 8859-15",
        tables: single(Source::Iso(&encoding_rs::ISO_8859_15_INIT)),
    },
    CatalogueEntry {
        label: "iso-8859-16",
        aliases: "iso_8859-16:2001 iso-ir-226 latin10 l10 csISO885916 8859-16",
        tables: single(Source::Iso(&encoding_rs::ISO_8859_16_INIT)),
    },
    CatalogueEntry {
        label: "windows-874",
        aliases: "cp874 ms874 874 dos-874 csWindows874",
        tables: single(Source::Vendor(&encoding_rs::WINDOWS_874_INIT, &[])),
    },
    CatalogueEntry {
        label: "windows-1250",
        aliases: "cp1250 x-cp1250 ms1250 1250 csWindows1250 ms-ee",
        tables: single(Source::Vendor(&encoding_rs::WINDOWS_1250_INIT, &[])),
    },
    CatalogueEntry {
        label: "windows-1251",
        aliases: "cp1251 x-cp1251 ms1251 1251 csWindows1251 ms-cyrl",
        tables: single(Source::Vendor(&encoding_rs::WINDOWS_1251_INIT, &[])),
    },
    CatalogueEntry {
        label: "windows-1252",
        aliases: "cp1252 x-cp1252 ms1252 1252 csWindows1252 ms-ansi",
        tables: single(Source::Vendor(&encoding_rs::WINDOWS_1252_INIT, &[])),
    },
    CatalogueEntry {
        label: "windows-1253",
        aliases: "cp1253 x-cp1253 ms1253 1253 csWindows1253 ms-greek",
        tables: single(Source::Vendor(&encoding_rs::WINDOWS_1253_INIT, &[])),
    },
    CatalogueEntry {
        label: "windows-1254",
        aliases: "cp1254 x-cp1254 ms1254 1254 csWindows1254 ms-turk",
        tables: single(Source::Vendor(&encoding_rs::WINDOWS_1254_INIT, &[])),
    },
    CatalogueEntry {
        label: "windows-1255",
        aliases: "cp1255 x-cp1255 ms1255 1255 csWindows1255 ms-hebr",
        tables: single(Source::Vendor(&encoding_rs::WINDOWS_1255_INIT, &[])),
    },
    CatalogueEntry {
        label: "windows-1256",
        aliases: "cp1256 x-cp1256 ms1256 1256 csWindows1256 ms-arab",
        tables: single(Source::Vendor(&encoding_rs::WINDOWS_1256_INIT, &[])),
    },
    CatalogueEntry {
        label: "windows-1257",
        aliases: "cp1257 x-cp1257 ms1257 1257 csWindows1257 winbaltrim",
        tables: single(Source::Vendor(&encoding_rs::WINDOWS_1257_INIT, &[])),
    },
    CatalogueEntry {
        label: "windows-1258",
        aliases: "cp1258 x-cp1258 ms1258 1258 csWindows1258",
        tables: single(Source::Vendor(&encoding_rs::WINDOWS_1258_INIT, &[])),
    },
    CatalogueEntry {
        label: "koi8-r",
        aliases: "koi8 koi csKOI8R cp878 ibm878",
        tables: single(Source::Vendor(&encoding_rs::KOI8_R_INIT, &[])),
    },
    CatalogueEntry {
        label: "koi8-u",
        aliases: "csKOI8U cp1168 ibm1168",
        tables: single(Source::Vendor(&encoding_rs::KOI8_U_INIT, &RFC_2319)),
    },
    CatalogueEntry {
        label: "macintosh",
        aliases: "mac mac-roman x-mac-roman csMacintosh cp10000",
        tables: single(Source::Vendor(&encoding_rs::MACINTOSH_INIT, &[])),
    },
    CatalogueEntry {
        label: "x-mac-cyrillic",
        aliases: "mac-cyrillic x-mac-ukrainian mac-ukrainian cp10007 cp10017",
        tables: single(Source::Vendor(&encoding_rs::X_MAC_CYRILLIC_INIT, &[])),
    },
    CatalogueEntry {
        label: "ibm437",
        aliases: "cp437 437 csPC8CodePage437",
        tables: single(Source::Dos(TableType::Complete(
            &code_table::DECODING_TABLE_CP437,
        ))),
    },
    CatalogueEntry {
        label: "cp720",
        aliases: "ibm720 720",
        tables: single(Source::Dos(TableType::Complete(
            &code_table::DECODING_TABLE_CP720,
        ))),
    },
    CatalogueEntry {
        label: "cp737",
        aliases: "ibm737 737",
        tables: single(Source::Dos(TableType::Complete(
            &code_table::DECODING_TABLE_CP737,
        ))),
    },
    CatalogueEntry {
        label: "ibm775",
        aliases: "cp775 775 csPC775Baltic",
        tables: single(Source::Dos(TableType::Complete(
            &code_table::DECODING_TABLE_CP775,
        ))),
    },
    CatalogueEntry {
        label: "ibm850",
        aliases: "cp850 850 csPC850Multilingual",
        tables: single(Source::Dos(TableType::Complete(
            &code_table::DECODING_TABLE_CP850,
        ))),
    },
    CatalogueEntry {
        label: "ibm852",
        aliases: "cp852 852 csPCp852",
        tables: single(Source::Dos(TableType::Complete(
            &code_table::DECODING_TABLE_CP852,
        ))),
    },
    CatalogueEntry {
        label: "ibm855",
        aliases: "cp855 855 csIBM855",
        tables: single(Source::Dos(TableType::Complete(
            &code_table::DECODING_TABLE_CP855,
        ))),
    },
    CatalogueEntry {
        label: "ibm857",
        aliases: "cp857 857 csIBM857",
        tables: single(Source::Dos(TableType::Incomplete(
            &code_table::DECODING_TABLE_CP857,
        ))),
    },
    CatalogueEntry {
        label: "ibm00858",
        aliases: "cp858 ibm858 858 ccsid00858 cp00858 pc-multilingual-850+euro",
        tables: single(Source::Dos(TableType::Complete(
            &code_table::DECODING_TABLE_CP858,
        ))),
    },
    CatalogueEntry {
        label: "ibm860",
        aliases: "cp860 860 csIBM860",
        tables: single(Source::Dos(TableType::Complete(
            &code_table::DECODING_TABLE_CP860,
        ))),
    },
    CatalogueEntry {
        label: "ibm861",
        aliases: "cp861 861 csIBM861 cp-is",
        tables: single(Source::Dos(TableType::Complete(
            &code_table::DECODING_TABLE_CP861,
        ))),
    },
    CatalogueEntry {
        label: "ibm862",
        aliases: "cp862 862 csPC862LatinHebrew",
        tables: single(Source::Dos(TableType::Complete(
            &code_table::DECODING_TABLE_CP862,
        ))),
    },
    CatalogueEntry {
        label: "ibm863",
        aliases: "cp863 863 csIBM863",
        tables: single(Source::Dos(TableType::Complete(
            &code_table::DECODING_TABLE_CP863,
        ))),
    },
    CatalogueEntry {
        label: "ibm864",
        aliases: "cp864 864 csIBM864",
        tables: single(Source::Dos(TableType::Incomplete(
            &code_table::DECODING_TABLE_CP864,
        ))),
    },
    CatalogueEntry {
        label: "ibm865",
        aliases: "cp865 865 csIBM865",
        tables: single(Source::Dos(TableType::Complete(
            &code_table::DECODING_TABLE_CP865,
        ))),
    },
    CatalogueEntry {
        label: "ibm866",
        aliases: "cp866 866 csIBM866",
        tables: single(Source::Dos(TableType::Complete(
            &code_table::DECODING_TABLE_CP866,
        ))),
    },
    CatalogueEntry {
        label: "ibm869",
        aliases: "cp869 869 csIBM869 cp-gr",
        tables: single(Source::Dos(TableType::Complete(
            &code_table::DECODING_TABLE_CP869,
        ))),
    },
    CatalogueEntry {
        label: "shift_jis",
        aliases: "sjis x-sjis ms-kanji csShiftJIS windows-31j csWindows31J cp932 ms932 windows-932",
        tables: multi(MultiByte::ShiftJis),
    },
    CatalogueEntry {
        label: "euc-jp",
        aliases: "x-euc-jp ujis csEUCPkdFmtJapanese Extended_UNIX_Code_Packed_Format_for_Japanese",
        tables: multi(MultiByte::EucJp),
    },
    CatalogueEntry {
        label: "euc-kr",
        aliases: "csEUCKR ks_c_5601-1987 ks_c_5601-1989 ks_c_5601 ksc5601 iso-ir-149 csKSC56011987 korean cp949 ms949 windows-949 uhc",
        tables: multi(MultiByte::EucKr),
    },
    CatalogueEntry {
        label: "gbk",
        aliases: "cp936 ms936 windows-936 x-gbk csGBK gb2312 csGB2312 euc-cn",
        tables: multi(MultiByte::Gbk),
    },
    CatalogueEntry {
        label: "gb18030",
        aliases: "csGB18030 cp54936 windows-54936",
        tables: multi(MultiByte::Gb18030),
    },
    CatalogueEntry {
        label: "big5",
        aliases: "csBig5 cn-big5 x-x-big5 big-five cp950 ms950 windows-950",
        tables: multi(MultiByte::Big5),
    },
];
