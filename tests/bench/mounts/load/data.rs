//! Work on the bytes of one file.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;

use super::sys::{PAGE, touch_pages};
use super::{Job, Order, Random};

/// Prepares the work on data that is ordered. An error where there is no such work.
pub fn job(order: &Order) -> io::Result<Job> {
    let (path, bytes, passes, count) = (
        order.directory.join("data"),
        order.bytes,
        order.passes,
        order.count,
    );
    let mut buffer = vec![0x5A_u8; order.block];
    let blocks = bytes / order.block as u64;
    let mut random = Random::new(0);
    let offsets: Vec<u64> = match order.work.as_str() {
        "read-random" | "write-random" if blocks > 0 => {
            let blocks = usize::try_from(blocks).map_err(io::Error::other)?;
            (0..count)
                .map(|_| (random.below(blocks) * order.block) as u64)
                .collect()
        }
        _ => Vec::new(),
    };
    let mut options = OpenOptions::new();
    Ok(match order.work.as_str() {
        // Opening and closing are part of it: that is where a filesystem may put off work to.
        "write" | "rewrite" | "append" => {
            match order.work.as_str() {
                "write" => options.write(true).create(true).truncate(true),
                "rewrite" => options.write(true),
                _ => options.append(true),
            };
            Box::new(move || {
                for _ in 0..passes {
                    let mut file = options.open(&path)?;
                    for _ in 0..blocks {
                        file.write_all(&buffer)?;
                    }
                }
                Ok(blocks as usize * passes)
            })
        }
        "empty" => Box::new(move || File::create(&path).map(|_| 1)),
        "read" => Box::new(move || {
            let mut operations = 0;
            for _ in 0..passes {
                let (mut file, mut read) = (File::open(&path)?, 0);
                loop {
                    match file.read(&mut buffer)? {
                        0 => break,
                        length => read += length as u64,
                    }
                    operations += 1;
                }
                if read != bytes {
                    return Err(io::Error::other(format!("{read} bytes read of {bytes}")));
                }
            }
            Ok(operations)
        }),
        "read-random" => Box::new(move || {
            let file = File::open(&path)?;
            offsets
                .iter()
                .try_for_each(|&offset| file.read_exact_at(&mut buffer, offset))?;
            Ok(offsets.len())
        }),
        "write-random" => {
            options.write(true);
            Box::new(move || {
                let file = options.open(&path)?;
                offsets
                    .iter()
                    .try_for_each(|&offset| file.write_all_at(&buffer, offset))?;
                Ok(offsets.len())
            })
        }
        "map-read" | "map-write" => {
            let write = order.work == "map-write";
            options.read(true).write(write);
            let length = usize::try_from(bytes).map_err(io::Error::other)?;
            Box::new(move || {
                let file = options.open(&path)?;
                if file.metadata()?.len() < bytes {
                    return Err(io::Error::other(format!(
                        "data has fewer than {bytes} bytes"
                    )));
                }
                for _ in 0..passes {
                    touch_pages(&file, length, write)?;
                }
                Ok(length.div_ceil(PAGE) * passes)
            })
        }
        other => return Err(io::Error::other(format!("no such work: {other}"))),
    })
}
