//! What programs do on a mount.

/// N10, N11: other spellings of a name, and names that a legacy sibling has.
mod aliases;
/// F2: where the audit log is written.
mod audit_log;
/// F9: programs above and below that work on the same files.
mod both_sides;
/// F5: changes made below, while the kernel keeps what it knows.
mod coherence;
/// N11, F2: many at once, and others below.
mod concurrent;
/// C5: nothing outside the backing directory can be named.
mod confinement;
/// F1, F3: the content of files, served by the kernel and by the daemon.
mod data;
/// F7: dead mounts that cover what they show, or are another user's.
mod dead;
/// F7: daemons that are killed at any moment.
mod death;
/// F3: what is not as below.
mod differs;
/// F1, F3: lengths, offsets, flags and names at the edges, as on a bare directory.
mod edges;
/// C1: which names are well-formed by which definition.
mod encodings;
/// N9: whose names are let through, and where.
mod exempt;
/// Faults from below, descriptors that run out, and backing directories that go away.
mod faults;
/// F1, F3: copies, archives and builds through the mount equal those beside it.
mod fidelity;
/// F1: flags of the mount, and of those below.
mod flags;
/// F5: what is heard of changes below, and what that must not cost.
mod followed;
/// N9, N10: normalization forms.
mod forms;
/// F1: mount(8), fstab, and what systemd makes of it.
mod fstab;
/// F5: directories whose lock somebody holds.
mod held;
/// N2, N3, N4, N8: directories made by an enemy.
mod hostile;
/// What a file is known by, and stays known by.
mod identity;
/// F7: limits and signals that a daemon inherits.
mod inherited;
/// N9, N5: invisible characters that have a use.
mod invisible;
/// F6, L1: the audit log in the system's journal.
mod journal;
/// F5, N10: which names the kernel keeps.
mod kept;
/// N11: kills at every point.
mod kills;
/// N7, N9: names of every length.
mod lengths;
/// N9, L2: offences that are normalized or only reported.
mod leniency;
/// F7: how a mount begins and ends.
mod lifecycle;
/// N13: what lies below, read through the mount.
mod links;
/// N13: links made through the mount.
mod links_made;
/// F3: locks, among the users of a mount and beside those below.
mod locks;
/// N8: lookups, counted by their system calls.
mod lookups;
/// N2, N3, N5, F4: very many names in one directory.
mod many;
/// F2: mounts inside the backing directory.
pub(crate) mod mounts_inside;
/// F2, F7: mounts on mounts, over directories in use, and twice.
mod nested;
/// N9, L2: each offence by each operation.
mod offences;
/// F3: the mount as the upper layer of an overlay.
mod overlay;
/// F5: content that the kernel keeps of files.
mod pages;
/// Bugs of others, tried on ours.
mod peers;
/// N9: policy files, their sections, and reading them anew.
mod policy;
/// F6: the log of the program itself.
mod program_log;
/// F2: an enemy who swaps links and directories.
mod races;
/// Faults found from outside.
mod regressions;
/// The requests that each operation costs.
mod renamed_below;
mod requests;
/// F1: rights, line by line, and what suites of others found.
mod rights;
/// FUSE over io_uring.
mod rings;
/// F7, L2: what a daemon gives up once it has mounted, and what works all the same.
mod sandbox;
/// F1: a backing filesystem that checks rights itself.
mod served_below;
/// mount(8), service managers, unmounting, and the status of all mounts.
mod service;
/// F5: the space of files that were removed below.
mod space;
/// F7: operations that wait for the backing filesystem.
mod stalls;
/// What a mount says of itself.
mod status;
/// N12, N10: names stored in a legacy charset, and escapes as spellings.
mod storing;
/// F4: reading a directory while it changes.
mod streams;
/// F3: many processes at one name, and deep trees.
mod together;
/// F1, F3, F5: names that others gave to something else, and the kernel has not heard.
mod told;
/// N9: new names that differ from a sibling in case or form alone.
mod unique;
/// F1: an ordinary user, above and below.
mod users;
