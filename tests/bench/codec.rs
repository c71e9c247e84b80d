//! Validation and decoding in every form, each beside the standard library on the same text.
//!
//! `cargo bench --bench ratios` holds the same against what is promised.

#![allow(
    missing_docs,
    reason = "criterion's macros make undocumented functions"
)]

mod texts;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use texts::{NAMES, OF_MOUNTS, TEXTS, in_form, long};
use utf8fs::codec::{Encoding, utf8};

fn bytes_of(length: usize) -> Throughput {
    Throughput::Bytes(length.try_into().unwrap_or(u64::MAX))
}

fn validate(criterion: &mut Criterion) {
    let names = NAMES.map(|name| vec![name.as_bytes().to_vec()]).concat();
    let texts = TEXTS.map(|(name, text)| (name, vec![long(text).into_bytes()]));
    for (name, set) in [("names", names)].into_iter().chain(texts) {
        let mut group = criterion.benchmark_group(format!("validate/{name}"));
        group.throughput(bytes_of(set.iter().map(Vec::len).sum()));
        group.bench_function("std", |bencher| {
            bencher.iter(|| {
                set.iter()
                    .all(|bytes| core::str::from_utf8(black_box(bytes)).is_ok())
            });
        });
        group.bench_function("codec::utf8", |bencher| {
            bencher.iter(|| {
                set.iter()
                    .all(|bytes| utf8::validate(black_box(bytes)).is_ok())
            });
        });
        for encoding in OF_MOUNTS {
            group.bench_function(encoding.label(), |bencher| {
                bencher.iter(|| {
                    set.iter()
                        .all(|bytes| encoding.validate(black_box(bytes)).is_ok())
                });
            });
        }
        group.finish();
    }
}

fn decode(criterion: &mut Criterion) {
    for (name, text) in TEXTS {
        let text = long(text);
        let mut group = criterion.benchmark_group(format!("decode/{name}"));
        group.throughput(bytes_of(text.len()));
        group.bench_function("std", |bencher| {
            bencher.iter(|| core::str::from_utf8(black_box(text.as_bytes())).is_ok());
        });
        let mut code_points = Vec::new();
        for &encoding in Encoding::ALL {
            let Some(bytes) = in_form(&text, encoding) else {
                continue;
            };
            group.bench_with_input(
                BenchmarkId::from_parameter(encoding.label()),
                &bytes,
                |bencher, bytes| {
                    bencher.iter(|| {
                        code_points.clear();
                        encoding.decode_into(black_box(bytes), true, &mut code_points)
                    });
                },
            );
        }
        group.finish();
    }
}

criterion_group!(benches, validate, decode);
criterion_main!(benches);
