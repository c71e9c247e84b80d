//! What systemd does at boot with the lines of fstab and the services that the documents show: nothing is mounted before the
//! filesystem that its directory lies on, nor without it.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::support::systemd::{Transaction, UnitDirectory, mount_unit};
use crate::support::{needs, page};

/// Pages with lines of fstab.
const PAGES: [&str; 4] = [
    "docs/installing.md",
    "docs/serving.md",
    "docs/scaling.md",
    "docs/commands/mount.txt",
];

/// Disks that come late or never, as administrators write them. The last one is on the network.
const DISKS: &str = "/dev/disk/by-label/srv /srv ext4 nofail 0 0\n\
    /dev/disk/by-label/usb /media/usb\\040disk ext4 noauto 0 0\n\
    server:/names /vol nfs nofail,_netdev 0 0\n";

/// A line of fstab on a page.
struct FstabLine {
    backing: String,
    point: String,
    text: String,
}

/// The lines of fstab on a page, also inside backquotes.
fn fstab_lines(page: &str) -> Vec<FstabLine> {
    let lines = page.split(['\n', '`']);
    let of_fstab = lines.filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let unescaped = |field: &str| field.replace("\\040", " ");
        match fields[..] {
            [backing, point, "fuse.utf8fs", _, "0", "0"] => Some(FstabLine {
                backing: unescaped(backing),
                point: unescaped(point),
                text: format!("{line}\n"),
            }),
            _ => None,
        }
    });
    of_fstab.collect()
}

/// The unit of the disk of [`DISKS`] on which a path lies.
fn disk_of(path: &str) -> Option<String> {
    let disks = ["/srv", "/media/usb disk", "/vol"];
    let disk = disks.iter().find(|disk| Path::new(path).starts_with(disk));
    disk.map(|disk| mount_unit(Path::new(disk)))
}

#[test]
fn each_line_of_fstab_in_the_documents_waits_for_its_disk_and_is_not_mounted_without_it() {
    if !needs::root("systemd as another user") {
        return;
    }
    let mut seen = 0;
    for name in PAGES {
        let lines = fstab_lines(page(name));
        let texts = lines.iter().map(|line| line.text.as_str());
        let fstab: String = [DISKS].into_iter().chain(texts).collect();
        let units = UnitDirectory::of_fstab(&fstab);
        let boot = Transaction::of_boot(&[&units]);
        for line in &lines {
            let unit = mount_unit(Path::new(&line.point));
            let disk = disk_of(&line.backing).unwrap();
            for relation in ["Requires", "After"] {
                let related = boot.related(&unit, relation);
                assert!(
                    related.contains(&disk),
                    "{relation}: {related:?} for {}",
                    line.text
                );
            }
            // Without nofail, a disk that is missing would stop the boot.
            assert!(line.text.contains("nofail"), "{}", line.text);
            seen += 1;
        }
    }
    assert_eq!(seen, 5, "lines of fstab in the documents");
}

/// The services that the page on installing shows: the file of each in `/etc/utf8fs`, and its text.
fn services() -> Vec<(String, String)> {
    let blocks = page("docs/installing.md").split("```");
    let of_services = blocks.filter_map(|block| {
        let (file, text) = block
            .trim_start()
            .strip_prefix("# /etc/utf8fs/")?
            .split_once('\n')?;
        let text = text.lines().filter(|line| line.contains('='));
        Some((
            file.to_owned(),
            text.map(|line| format!("{line}\n")).collect(),
        ))
    });
    of_services.collect()
}

/// The units of the package, and what its generator makes of some files of `/etc/utf8fs`. All services are enabled.
fn units_of(files: &[(String, String)]) -> [UnitDirectory; 2] {
    let (packaged, made) = (UnitDirectory::new(), UnitDirectory::new());
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/package.d");
    let config = tempfile::tempdir().unwrap();
    let wants = packaged.path().join("multi-user.target.wants");
    std::fs::create_dir(&wants).unwrap();
    for unit in ["utf8fs@.service", "utf8fs-guard@.service"] {
        std::fs::copy(source.join(unit), packaged.path().join(unit)).unwrap();
    }
    for (file, text) in files {
        std::fs::write(config.path().join(file), text).unwrap();
        let (unit, service) = unit_and_service(file);
        symlink(packaged.path().join(unit), wants.join(service)).unwrap();
    }
    std::fs::write(config.path().join("fstab"), DISKS).unwrap();
    let mut generator = Command::new(source.join("utf8fs-generator"));
    generator.args([made.path(); 3]);
    generator.env("UTF8FS_CONFIG", config.path());
    generator.env("UTF8FS_SYSTEM", packaged.path());
    generator.env("SYSTEMD_FSTAB", config.path().join("fstab"));
    let output = generator.output().unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    [packaged, made]
}

/// The template and the service of a file of `/etc/utf8fs`.
fn unit_and_service(file: &str) -> (&'static str, String) {
    match file.rsplit_once('.') {
        Some((name, "conf")) => ("utf8fs@.service", format!("utf8fs@{name}.service")),
        Some((name, "guard")) => (
            "utf8fs-guard@.service",
            format!("utf8fs-guard@{name}.service"),
        ),
        _ => panic!("{file}"),
    }
}

#[test]
fn each_service_in_the_documents_waits_for_its_disk_and_starts_when_that_is_mounted_later() {
    if !needs::root("systemd as another user") {
        return;
    }
    let files = services();
    assert_eq!(files.len(), 2, "{files:?}");
    let [packaged, made] = units_of(&files);
    let disks = UnitDirectory::of_fstab(DISKS);
    let boot = Transaction::of_boot(&[&packaged, &made, &disks]);
    for (file, text) in files {
        let (_, service) = unit_and_service(&file);
        let path = text.lines().next().unwrap().split_once('=').unwrap().1;
        let disk = disk_of(path).unwrap();
        for relation in ["Requires", "After"] {
            let related = boot.related(&service, relation);
            assert!(
                related.contains(&disk),
                "{relation}: {related:?} for {service}"
            );
        }
        let wanted = boot.related(&disk, "Wants");
        assert!(wanted.contains(&service), "{wanted:?} with {disk}");
    }
}

/// Each with what the service requires, which systemd finds by the paths that the generator gives it.
#[test]
fn the_paths_of_a_service_are_read_as_systemd_reads_an_environment_file() {
    if !needs::root("systemd as another user") {
        return;
    }
    let usb = r"media-usb\x20disk.mount";
    let rows: [(&str, &str, &[&str]); 9] = [
        (
            "plain.conf",
            "BACKING=/srv/old\nMOUNTPOINT=/mnt/old\n",
            &["srv.mount"],
        ),
        (
            "both.conf",
            "BACKING=/srv/old\nMOUNTPOINT=/vol/x\n",
            &["srv.mount", "vol.mount"],
        ),
        (
            "last.guard",
            "DIRECTORY=/srv/x\nDIRECTORY=/vol/x\n",
            &["vol.mount"],
        ),
        (
            "double.guard",
            "  DIRECTORY = \"/media/usb disk/x\"  \n",
            &[usb],
        ),
        (
            "single.guard",
            "DIRECTORY='/media/usb disk/a \"b\" 100%'\n",
            &[usb],
        ),
        ("escaped.guard", "DIRECTORY=/media/usb\\ disk/x\n", &[usb]),
        ("dots.guard", "DIRECTORY=/srv/../vol/./x/\n", &["vol.mount"]),
        ("other.guard", "#DIRECTORY=/srv\nDIRECTORY=/var/x\n", &[]),
        ("none.guard", "OPTIONS=\n", &[]),
    ];
    let files = rows.map(|(file, text, _)| (file.to_owned(), text.to_owned()));
    let [packaged, made] = units_of(&files);
    let disks = UnitDirectory::of_fstab(DISKS);
    let boot = Transaction::of_boot(&[&packaged, &made, &disks]);
    for (file, text, wanted) in rows {
        let (_, service) = unit_and_service(file);
        let required = boot.related(&service, "Requires");
        let is_disk = |unit: &&String| unit.ends_with(".mount") && *unit != "-.mount";
        let required: BTreeSet<&str> = required
            .iter()
            .filter(is_disk)
            .map(String::as_str)
            .collect();
        assert_eq!(required, wanted.iter().copied().collect(), "{text}");
    }
    // What is not UTF-8 can be in no unit: then the filesystem above it is required.
    let config = tempfile::tempdir().unwrap();
    std::fs::write(
        config.path().join("raw.guard"),
        b"DIRECTORY=/srv/caf\xE9/x\n",
    )
    .unwrap();
    let generated = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/package.d/utf8fs-generator");
    let mut generator = Command::new(source);
    generator
        .args([generated.path(); 3])
        .env("UTF8FS_CONFIG", config.path());
    assert!(generator.status().unwrap().success());
    let dropped = generated
        .path()
        .join("utf8fs-guard@raw.service.d/50-utf8fs.conf");
    let text = std::fs::read_to_string(dropped).unwrap();
    assert!(
        text.ends_with("[Unit]\nRequiresMountsFor=\"/srv\"\n"),
        "{text}"
    );
}

/// Exit status 2 is for wrong arguments, after which the service stays down; a directory that is not there yet is none of these.
#[test]
fn a_service_whose_directory_is_not_there_yet_fails_so_that_it_is_started_again() {
    for (unit, variable) in [
        ("utf8fs@.service", "BACKING"),
        ("utf8fs-guard@.service", "DIRECTORY"),
    ] {
        let place = Path::new("scripts/package.d").join(unit);
        let text = page(place.to_str().unwrap());
        let value = |key: &str| {
            let mut values = text.lines().filter_map(|line| line.strip_prefix(key));
            values.next().unwrap_or_else(|| panic!("{key} in {unit}"))
        };
        assert_eq!(value("Restart="), "on-failure", "{unit}");
        // As often as this, systemd never gives up.
        let script = value("ExecStartPre=/bin/sh -c '")
            .strip_suffix('\'')
            .unwrap();
        let script = script
            .replace("$$", "$")
            .replace("sleep 15", "printf slept");
        let run = |directory: &str| {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", &script]).env(variable, directory);
            shell.output().unwrap()
        };
        let absent = run("/none of these");
        assert_eq!(
            (absent.status.code(), &*absent.stdout),
            (Some(1), &b"slept"[..])
        );
        let said = String::from_utf8(absent.stderr).unwrap();
        assert_eq!(said, "there is no directory /none of these yet\n");
        assert!(run("/usr/lib").status.success());
    }
}

#[test]
fn the_units_are_as_systemd_wants_them() {
    let units = UnitDirectory::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/package.d");
    for unit in ["utf8fs@", "utf8fs-guard@"] {
        let text = std::fs::read_to_string(source.join(format!("{unit}.service"))).unwrap();
        let text = text.replace("/usr/bin/utf8fs ", "/bin/true ");
        let lines = text
            .lines()
            .filter(|line| !line.starts_with("Documentation="));
        let text: String = lines.map(|line| format!("{line}\n")).collect();
        let file = units.path().join(format!("{unit}test.service"));
        std::fs::write(&file, text).unwrap();
        let output = Command::new("systemd-analyze")
            .arg("verify")
            .arg(&file)
            .output()
            .unwrap();
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{output:?}"
        );
    }
}
