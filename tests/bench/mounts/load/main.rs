//! The load that scripts/bench measures: one kind of work on one directory, and what it took.
//!
//! usage: load WORK DIRECTORY [KEY=NUMBER]...
//!
//! Prints `{"operations":N,"wall_ns":N,"cpu_ns":N}`, the time and the CPU time of the work alone: names are made up and
//! files opened for preparation before the clocks are read. Ends with 1 and a message where anything fails.
//!
//! On names, `files` of them in DIRECTORY/files, split among `clients` threads, `passes` times over; with `own` 1 each client has a
//! directory of its own:
//!   create, stat, absent (stat of what is not there), open (and close), rename, unlink, list (names alone),
//!   list-long (and a stat of each); mkdir and rmdir of a tree of `files` directories
//! On DIRECTORY/data, of `bytes` bytes, in blocks of `block` bytes:
//!   write (anew), rewrite (what is there), append, read, empty (the file); `count` blocks anywhere: read-random, write-random;
//!   by shared memory, a touch of each page: map-read, map-write
//! Without clocks:
//!   populate (a tree of `files` empty files, a thousand to a directory)
//!   delay (mounts a filesystem at DIRECTORY that takes `millis` for each name, and serves it until it is unmounted)
//!
//! Every fourth name has letters beyond ASCII, all of them in Latin-1, so that what converts names has work to do.
//!
//! Standard library only; Linux with glibc 2.33 or later, or musl.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use sys::{cpu_time, stat};

mod data;
mod delay;
mod sys;

/// Directories in a directory of the tree that mkdir makes.
const FAN_OUT: usize = 8;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match Order::parse(&arguments).and_then(|order| run(&order)) {
        Ok(took) => {
            println!(
                "{{\"operations\":{},\"wall_ns\":{},\"cpu_ns\":{}}}",
                took.operations, took.wall_ns, took.cpu_ns
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("load {}: {error}", arguments.join(" "));
            ExitCode::FAILURE
        }
    }
}

/// What is to be done.
struct Order {
    work: String,
    directory: PathBuf,
    files: usize,
    clients: usize,
    own: bool,
    passes: usize,
    bytes: u64,
    block: usize,
    count: usize,
    millis: u64,
}

impl Order {
    fn parse(arguments: &[String]) -> io::Result<Self> {
        let [work, directory, rest @ ..] = arguments else {
            return Err(io::Error::other(
                "usage: load WORK DIRECTORY [KEY=NUMBER]...",
            ));
        };
        let mut order = Self {
            work: work.clone(),
            directory: directory.into(),
            files: 1000,
            clients: 1,
            own: false,
            passes: 1,
            bytes: 1 << 20,
            block: sys::PAGE,
            count: 256,
            millis: 5,
        };
        for argument in rest {
            let unclear = || io::Error::other(format!("what is {argument}?"));
            let (key, value) = argument.split_once('=').ok_or_else(unclear)?;
            let number: usize = value.parse().map_err(|_| unclear())?;
            match key {
                "files" => order.files = number,
                "clients" => order.clients = number.max(1),
                "own" => order.own = number == 1,
                "millis" => order.millis = number as u64,
                "passes" => order.passes = number.max(1),
                "bytes" => order.bytes = number as u64,
                "block" => order.block = number.max(1),
                "count" => order.count = number,
                _ => return Err(unclear()),
            }
        }
        Ok(order)
    }

    /// The directory of one client.
    fn files_of(&self, client: usize) -> PathBuf {
        match self.own {
            true => self.directory.join(format!("files-{client}")),
            false => self.directory.join("files"),
        }
    }

    /// The names of one client: every `clients`th, so that all are in each other's way, in order or shuffled.
    fn share(&self, client: usize, prefix: &str, order: Sequence) -> Vec<CString> {
        let mut numbers: Vec<usize> = (client..self.files).step_by(self.clients).collect();
        if let Sequence::Shuffled = order {
            let mut random = Random::new(client);
            for last in (1..numbers.len()).rev() {
                numbers.swap(last, random.below(last + 1));
            }
        }
        let files = self.files_of(client);
        numbers
            .iter()
            .map(|&number| c_path(&files.join(name(prefix, number))))
            .collect()
    }
}

enum Sequence {
    InOrder,
    Shuffled,
}

fn name(prefix: &str, number: usize) -> String {
    match number % 4 {
        0 => format!("{prefix}-{number:06}-größe-été.txt"),
        _ => format!("{prefix}-{number:06}-size.txt"),
    }
}

/// Directory `number` of a tree, each after the one it is in.
fn tree_path(root: &Path, number: usize) -> PathBuf {
    let parent = match number {
        0 => return root.to_path_buf(),
        _ => tree_path(root, (number - 1) / FAN_OUT),
    };
    parent.join(name("directory", number))
}

fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).expect("no NUL in a path")
}

fn path_of(path: &CString) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(path.as_bytes()))
}

/// Numbers without order, the same in each run (splitmix64).
struct Random(u64);

impl Random {
    fn new(seed: usize) -> Self {
        Self(0x5851_F42D_4C95_7F2D ^ seed as u64)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }
}

/// What the work took.
struct Took {
    operations: usize,
    wall_ns: u128,
    cpu_ns: u64,
}

/// The work of one client, prepared; returns how many operations it was.
type Job = Box<dyn FnOnce() -> io::Result<usize> + Send>;

fn run(order: &Order) -> io::Result<Took> {
    if order.work == "populate" {
        return populate(order);
    }
    if order.work == "delay" {
        delay::serve(&order.directory, Duration::from_millis(order.millis))?;
        return Ok(Took {
            operations: 0,
            wall_ns: 0,
            cpu_ns: 0,
        });
    }
    let jobs: Vec<Job> = match order.work.as_str() {
        "create" => {
            for client in 0..order.clients {
                fs::create_dir_all(order.files_of(client))?;
            }
            clients(order, |client| {
                each(
                    order,
                    order.share(client, "file", Sequence::InOrder),
                    |path| {
                        OpenOptions::new()
                            .write(true)
                            .create_new(true)
                            .open(path_of(path))
                            .map(drop)
                    },
                )
            })
        }
        "stat" => clients(order, |client| {
            each(order, order.share(client, "file", Sequence::Shuffled), stat)
        }),
        "absent" => clients(order, |client| {
            each(
                order,
                order.share(client, "absent", Sequence::Shuffled),
                |path| match stat(path) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                    Err(error) => Err(error),
                    Ok(()) => Err(io::Error::other("a file that should be absent is there")),
                },
            )
        }),
        "open" => clients(order, |client| {
            each(
                order,
                order.share(client, "file", Sequence::Shuffled),
                |path| File::open(path_of(path)).map(drop),
            )
        }),
        "rename" => clients(order, |client| {
            let pairs = order.share(client, "file", Sequence::InOrder);
            let pairs = pairs
                .into_iter()
                .zip(order.share(client, "renamed", Sequence::InOrder))
                .collect();
            each(order, pairs, |(from, to): &(CString, CString)| {
                fs::rename(path_of(from), path_of(to))
            })
        }),
        "unlink" => clients(order, |client| {
            each(
                order,
                order.share(client, "renamed", Sequence::InOrder),
                |path| fs::remove_file(path_of(path)),
            )
        }),
        "list" | "list-long" => vec![list(order)],
        "mkdir" | "rmdir" => vec![tree(order)],
        _ => vec![data::job(order)?],
    };
    measure(jobs)
}

fn clients(order: &Order, job: impl Fn(usize) -> Job) -> Vec<Job> {
    (0..order.clients).map(job).collect()
}

/// A job that does one thing to each of a list, as many times over as asked.
fn each<T: Send + 'static>(
    order: &Order,
    list: Vec<T>,
    action: impl Fn(&T) -> io::Result<()> + Send + 'static,
) -> Job {
    let passes = order.passes;
    Box::new(move || {
        for _ in 0..passes {
            list.iter().try_for_each(&action)?;
        }
        Ok(list.len() * passes)
    })
}

fn list(order: &Order) -> Job {
    let (files, passes, long) = (
        order.directory.join("files"),
        order.passes,
        order.work == "list-long",
    );
    Box::new(move || {
        let mut operations = 0;
        for _ in 0..passes {
            for entry in fs::read_dir(&files)? {
                let entry = entry?;
                if long {
                    stat(&c_path(&entry.path()))?;
                }
                operations += 1;
            }
        }
        Ok(operations)
    })
}

fn tree(order: &Order) -> Job {
    let root = order.directory.join("tree");
    let mut paths: Vec<PathBuf> = (0..order.files)
        .map(|number| tree_path(&root, number))
        .collect();
    if order.work == "rmdir" {
        paths.reverse();
    }
    let make = order.work == "mkdir";
    each(order, paths, move |path: &PathBuf| {
        if make {
            fs::create_dir(path)
        } else {
            fs::remove_dir(path)
        }
    })
}

/// A tree of empty files with names that need no thought, for walks.
fn populate(order: &Order) -> io::Result<Took> {
    const EACH: usize = 1000;
    for first in (0..order.files).step_by(EACH) {
        let directory = order.directory.join(format!("{:04}", first / EACH));
        fs::create_dir_all(&directory)?;
        for number in first..order.files.min(first + EACH) {
            File::create(directory.join(name("file", number)))?;
        }
    }
    Ok(Took {
        operations: order.files,
        wall_ns: 0,
        cpu_ns: 0,
    })
}

/// Does the jobs, each in a thread of its own where there are several, and reads the clocks before and after.
fn measure(mut jobs: Vec<Job>) -> io::Result<Took> {
    let (operations, wall, cpu_ns) = if jobs.len() == 1 {
        let job = jobs.remove(0);
        let (wall, cpu) = (Instant::now(), cpu_time()?);
        let operations = job()?;
        (operations, wall.elapsed(), cpu_time()? - cpu)
    } else {
        // All wait twice: until all are there, and until the clocks have been read.
        let gate = Barrier::new(jobs.len() + 1);
        std::thread::scope(|scope| {
            let workers: Vec<_> = jobs
                .into_iter()
                .map(|job| {
                    scope.spawn(|| {
                        gate.wait();
                        gate.wait();
                        job()
                    })
                })
                .collect();
            gate.wait();
            let (wall, cpu) = (Instant::now(), cpu_time()?);
            gate.wait();
            let mut operations = 0;
            for worker in workers {
                operations += worker
                    .join()
                    .map_err(|_| io::Error::other("a client panicked"))??;
            }
            Ok::<_, io::Error>((operations, wall.elapsed(), cpu_time()? - cpu))
        })?
    };
    Ok(Took {
        operations,
        wall_ns: wall.as_nanos(),
        cpu_ns,
    })
}
