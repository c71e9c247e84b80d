# Runs calls with values at the edges in the current directory, and prints a line of each: what it gave, or its errno.
# %NR has the numbers of the system calls. Bytes of names and values are never printed, only their lengths and sums.
use strict; use Fcntl qw(:mode :DEFAULT); use POSIX (); $| = 1;
our %NR;
my $MAX = 0x7fffffffffffffff;
sub sum { return unpack('%32C*', $_[0]) . '/' . length $_[0] }
my $errno;
sub row {
    my ($label, $result, @more) = @_;
    print "$label: ", ($result == -1 ? "errno $errno" : join(' ', "gave $result", @more)), "\n";
}
sub call {
    my $name = shift;
    my @arguments = @_;
    my $result = syscall($NR{$name} // die("no $name"), @arguments);
    $errno = $! + 0;
    # What the kernel wrote, into what can be written.
    for my $i (0 .. $#arguments) {
        $_[$i] = $arguments[$i] unless Internals::SvREADONLY($_[$i]) || $_[$i] eq $arguments[$i];
    }
    return $result;
}
sub show { return $_[0] == $MAX ? 'max' : $_[0] }
sub file { my ($name, $flags) = @_; sysopen(my $file, $name, $flags // O_RDWR | O_CREAT, 0644) or die "$name: $!"; return $file }
sub state_of {
    my ($name) = @_;
    my @stat = lstat $name or return 'absent';
    my $state = sprintf '%o %d links %d', $stat[2], $stat[3], -f _ ? $stat[7] : 0;
    if (-f _ && $stat[7] < 1 << 21) { open(my $in, '<:raw', $name) or return $state; local $/; $state .= ' ' . sum(<$in>) }
    return $state;
}
sub fresh {
    my ($name) = @_;
    unlink $name; my $file = file($name);
    syswrite $file, 'a' x 10000; sysseek $file, 65536, 0; syswrite $file, 'b' x 4096;
    return $file;
}
my $buffer = "\0" x 70000;
my @offsets = (0, 1, 4095, 4096, 4097, 65535, 65536, 69631, 69632, 69633, 1 << 31, 1 << 32, 1 << 44, $MAX - 4096, $MAX - 1, $MAX, -1, -4096, -$MAX - 1);
my @lengths = (0, 1, 4095, 4096, 4097, 65536, 69632, 70000);

# Reads and writes.
{
    my $file = fresh('io');
    for my $offset (@offsets) {
        for my $length (@lengths) {
            my $got = call('pread64', fileno $file, $buffer, $length, $offset);
            row("pread $length at " . show($offset), $got, $got > 0 ? sum(substr $buffer, 0, $got) : '');
        }
        row('pread -1 at ' . show($offset), call('pread64', fileno $file, $buffer, -1, $offset));
    }
    for my $offset (@offsets) {
        for my $length (0, 1, 4096) {
            next if $offset > 1 << 20 && $offset < 1 << 40;
            $file = fresh('io');
            row("pwrite $length at " . show($offset), call('pwrite64', fileno $file, 'c' x 5000, $length, $offset), state_of('io'));
        }
    }
    row('pwrite -1 at 0', call('pwrite64', fileno $file, 'c', -1, 0));
    my $reader = file('io', O_RDONLY);
    row('write by a reader', call('pwrite64', fileno $reader, 'c', 1, 0));
    row('nothing by a reader', call('pwrite64', fileno $reader, 'c', 0, 0));
    my $writer = file('io', O_WRONLY);
    row('read by a writer', call('pread64', fileno $writer, $buffer, 1, 0));
    sysopen(my $directory, '.', O_RDONLY);
    row('read a directory', call('pread64', fileno $directory, $buffer, 1, 0));
    row('open a directory for writing', call('openat', -100, 'd' x 3, O_RDWR));
}
# Sizes.
for my $size (@offsets, 10000, 65536 + 4096) {
    next if $size > 1 << 20 && $size < 1 << 40;
    my $file = fresh('size');
    row('ftruncate ' . show($size), call('ftruncate', fileno $file, $size), state_of('size'));
    fresh('size');
    row('truncate ' . show($size), call('truncate', 'size', $size), state_of('size'));
}
# fallocate.
for my $mode (0 .. 4, 8, 9, 0x10, 0x11, 0x12, 0x20, 0x21, 0x40, 0x80, 0x100, 0x7fffffff, -1) {
    for my $range ([0, 0], [0, 4096], [4096, 4096], [1, 5000], [65536, 8192], [-1, 1], [0, -1], [$MAX, 1], [1, $MAX], [$MAX - 4096, 4096]) {
        my $file = fresh('room');
        my $label = sprintf 'fallocate mode %x of %s at %s', $mode & 0xffffffff, show($range->[1]), show($range->[0]);
        row($label, call('fallocate', fileno $file, $mode, @$range), state_of('room'));
    }
}
# lseek.
{
    my $file = fresh('seek');
    for my $whence (0 .. 6, -1, 0x7fffffff) {
        for my $offset (@offsets) {
            sysseek $file, 100, 0;
            my $got = call('lseek', fileno $file, $offset, $whence);
            row('lseek ' . show($offset) . " whence $whence", $got);
        }
    }
}
# Renames.
for my $flags (0 .. 8, 0x10, 0x80000000, -1) {
    for my $pair (['one', 'two'], ['one', 'new'], ['one', 'one'], ['none', 'new'], ['one', 'sub'], ['sub', 'one'], ['sub', 'sub/in'], ['one', '.'], ['one', '..'], ['.', 'new'], ['one', 'two/']) {
        unlink 'one', 'two', 'new'; rmdir $_ for 'one', 'two', 'new', 'sub';
        my $one = file('one'); syswrite $one, '1'; my $two = file('two'); syswrite $two, '22'; mkdir 'sub';
        my $label = sprintf 'renameat2 %s %s flags %x', @$pair, $flags & 0xffffffff;
        row($label, call('renameat2', -100, $pair->[0], -100, $pair->[1], $flags), map { state_of($_) } qw(one two new sub));
    }
}
unlink 'one', 'two', 'new'; rmdir $_ for 'one', 'two', 'new', 'sub';
# Extended attributes.
{
    my $file = fresh('attributes');
    for my $name ('user.', 'user.a', 'user.' . 'n' x 250, 'user.' . 'n' x 251, 'n' x 255, 'n' x 256, '', 'noname', 'other.a', 'trusted.a', 'trusted.' . 't' x 247, 'security.a', 'system.a', "user.\xff\xfe", 'user.a/b') {
        my $label = length($name) . ' ' . substr($name, 0, 9); $label =~ s/[^ -~]/?/g;
        row("setxattr $label", call('setxattr', 'attributes', $name, 'value', 5, 0));
        row("fsetxattr $label", call('fsetxattr', fileno $file, $name, 'value', 5, 0));
        row("getxattr $label", call('getxattr', 'attributes', $name, $buffer, 100));
        row("removexattr $label", call('removexattr', 'attributes', $name));
        row("removexattr again $label", call('removexattr', 'attributes', $name));
    }
    for my $size (0, 1, 255, 2000, 65535, 65536, 65537, 70000, -1) {
        row("setxattr of $size", call('setxattr', 'attributes', 'user.size', 'v' x 70000, $size, 0));
        row("getxattr of $size", call('getxattr', 'attributes', 'user.size', $buffer, 70000));
        call('removexattr', 'attributes', 'user.size');
    }
    for my $flags (0, 1, 2, 3, 4, 8, -1) {
        for my $name ('user.there', 'user.absent') {
            call('setxattr', 'attributes', 'user.there', 'value', 5, 0); call('removexattr', 'attributes', 'user.absent');
            row("setxattr $name flags $flags", call('setxattr', 'attributes', $name, 'other', 5, $flags));
        }
    }
    for my $size (0, 1, 4, 5, 6, 65536, 70000) {
        call('setxattr', 'attributes', 'user.there', 'value', 5, 0);
        row("getxattr into $size", call('getxattr', 'attributes', 'user.there', $buffer, $size));
    }
    call('removexattr', 'attributes', 'user.absent');
    for my $size (0, 1, 10, 11, 65536, 70000) { row("listxattr into $size", call('listxattr', 'attributes', $buffer, $size)) }
    row('getxattr of nothing', call('getxattr', 'nothing', 'user.a', $buffer, 10));
    symlink 'attributes', 'alink';
    row('lsetxattr of a link', call('lsetxattr', 'alink', 'user.a', 'v', 1, 0));
    row('lgetxattr of a link', call('lgetxattr', 'alink', 'user.a', $buffer, 10));
    row('lsetxattr trusted of a link', call('lsetxattr', 'alink', 'trusted.a', 'v', 1, 0));
}
# Links.
for my $length (0, 1, 255, 256, 1023, 4094, 4095, 4096, 5000) {
    unlink 'target';
    my $target = join '/', ('t' x 200) x 25; $target = substr $target, 0, $length;
    row("symlink to $length", call('symlinkat', $target, -100, 'target'));
    for my $room (0, 1, 4094, 4095, 4096, 65536, -1) {
        my $got = call('readlinkat', -100, 'target', $buffer, $room);
        row("readlink of $length into $room", $got, $got > 0 ? sum(substr $buffer, 0, $got) : '');
    }
}
unlink 'target';
row('readlink of a file', call('readlinkat', -100, 'io', $buffer, 100));
for my $flags (0, 0x400, 0x1000, 0x100, 0x200, -1) { row("linkat flags $flags", call('linkat', -100, 'io', -100, 'linked', $flags)); unlink 'linked' }
row('link a directory', call('linkat', -100, '.', -100, 'linked', 0));
# Names.
for my $length (0, 1, 254, 255, 256, 300, 1024, 4094, 4095, 4096, 5000) {
    my $name = 'n' x $length;
    row("stat a name of $length", call('faccessat', -100, $name, 0));
    row("create a name of $length", call('mknodat', -100, $name, 0100644, 0));
    row("create it again, $length", call('mknodat', -100, $name, 0100644, 0));
    row("unlink a name of $length", call('unlinkat', -100, $name, 0));
    row("mkdir a name of $length", call('mkdirat', -100, $name, 0755));
    row("rmdir a name of $length", call('unlinkat', -100, $name, 0x200));
    row("symlink a name of $length", call('symlinkat', 'x', -100, $name)); unlink $name;
    row("link a name of $length", call('linkat', -100, 'io', -100, $name, 0)); unlink $name;
    row("rename to a name of $length", call('renameat2', -100, 'io', -100, $name, 0)); rename $name, 'io' if $length;
    my $deep = './' x 2047; $deep = substr($deep, 0, 4095 - $length) . $name;
    row("a path of " . length($deep) . " to a name of $length", call('faccessat', -100, $deep, 0));
}
# Flags of open.
{
    mkdir 'directory';
    for my $flags (O_CREAT | O_EXCL, O_CREAT | 0200000, O_EXCL, O_TRUNC, O_WRONLY | O_TRUNC, 0200000, 0400000, 010000000, O_RDWR | 3, O_WRONLY | O_APPEND, O_CREAT | 040000, 04000, 02000000, 0x40000000, 0x80000000, 020200000, 020200002) {
        for my $name ('io', 'directory', 'alink', 'absent', 'io/', 'directory/', 'absent/', '.', 'io/x') {
            fresh('io');
            my $got = call('openat', -100, $name, $flags, 0644);
            row(sprintf('open %s flags %x', $name, $flags), $got >= 0 ? 0 : -1, $got >= 0 ? state_of($name) : '');
            POSIX::close($got) if $got >= 0; unlink 'absent';
        }
    }
}
# Kinds and modes.
for my $mode (0, 0644, 07777, 0100644, 0010644, 0020644, 0060644, 0140644, 0040755, 0120777, 0170000, 0030000, 0150000) {
    row(sprintf('mknod %o', $mode), call('mknodat', -100, 'node', $mode, 0x105), state_of('node')); unlink 'node';
}
for my $mode (0, 07777, 0177777, 0x7fffffff) {
    my $file = fresh('mode');
    row(sprintf('chmod %o', $mode), call('fchmodat', -100, 'mode', $mode), state_of('mode'));
    row(sprintf('mkdir %o', $mode), call('mkdirat', -100, 'made', $mode), state_of('made')); rmdir 'made';
}
for my $ids ([-1, -1], [0, -1], [-1, 0], [0x7ffffffe, 0x7ffffffe], [0xfffffffe, 0xfffffffe], [1, 2]) {
    fresh('owner');
    row("chown @$ids", call('fchownat', -100, 'owner', @$ids, 0), (stat 'owner')[4, 5]);
}
for my $time ([0, 0], [1, 999999999], [1, 1000000000], [1, -1], [1, 0x3fffffff], [1, 0x3ffffffe], [-1, 0], [-0x80000000, 0], [0x7fffffff, 0], [1 << 32, 5], [1 << 33, 5]) {
    fresh('time');
    my $pair = pack 'q4', @$time, @$time;
    my $now = $time->[1] == 0x3fffffff || $time->[1] == 0x3ffffffe;
    row("utimensat @$time", call('utimensat', -100, 'time', $pair, 0), $now ? '' : (stat 'time')[8, 9]);
}
row('utimensat flags', call('utimensat', -100, 'time', pack('q4', 1, 1, 1, 1), 0x40));
# Copies within the kernel.
for my $range ([0, 0, 0], [0, 0, 4096], [0, 100000, 4096], [0, 0, -1], [-1, 0, 1], [0, -1, 1], [$MAX, 0, 1], [0, $MAX, 1], [69631, 0, 10], [70000, 0, 10], [1, 2, 3]) {
    my ($from, $to) = (fresh('from'), fresh('to'));
    my ($in, $out) = (pack('q', $range->[0]), pack('q', $range->[1]));
    my $label = 'copy_file_range ' . join ' ', map { show($_) } @$range;
    row($label, call('copy_file_range', fileno $from, $in, fileno $to, $out, $range->[2], 0), unpack('q', $in), unpack('q', $out), state_of('to'));
    ($in, $out) = (pack('q', $range->[0]), pack('q', $range->[1]));
    row("$label, in one file", call('copy_file_range', fileno $from, $in, fileno $from, $out, $range->[2], 0), state_of('from'));
}
{
    my ($from, $to) = (fresh('from'), fresh('to'));
    row('copy_file_range flags', call('copy_file_range', fileno $from, 0, fileno $to, 0, 1, 1));
}
# What is left.
{
    my $file = fresh('rest'); sysopen(my $directory, 'directory', O_RDONLY);
    for my $mode (-1, 0, 7, 8, 0x100) { row("access $mode", call('faccessat', -100, 'rest', $mode)) }
    for my $size (0, 1, 23, 24) { row("getdents into $size", call('getdents64', fileno $directory, $buffer, $size)) }
    for my $offset (-1, 0) { row('lseek of a directory ' . show($offset), call('lseek', fileno $directory, $offset, 0)) }
    row('fsync', call('fsync', fileno $file)); row('fsync of a directory', call('fsync', fileno $directory));
    row('fdatasync of a directory', call('fdatasync', fileno $directory));
    row('sync_file_range flags', call('sync_file_range', fileno $file, 0, 1, 8));
    row('sync_file_range', call('sync_file_range', fileno $file, 0, 0, 7));
    row('sync_file_range at -1', call('sync_file_range', fileno $file, -1, 1, 7));
    row('fadvise', call('fadvise64', fileno $file, 0, -1, 0)); row('fadvise 99', call('fadvise64', fileno $file, 0, 0, 99));
    row('flock 0', call('flock', fileno $file, 0)); row('flock 64', call('flock', fileno $file, 64));
    row('ioctl', call('ioctl', fileno $file, 0x12345678, 0));
    row('truncate a directory', call('truncate', 'directory', 0));
    row('ftruncate by a reader', call('ftruncate', fileno file('rest', O_RDONLY), 0));
    row('fallocate a directory', call('fallocate', fileno $directory, 0, 0, 1));
    row('fallocate by a reader', call('fallocate', fileno file('rest', O_RDONLY), 0, 0, 1));
    row('unlink a directory', call('unlinkat', -100, 'directory', 0)); row('rmdir a file', call('unlinkat', -100, 'rest', 0x200));
    row('unlinkat flags', call('unlinkat', -100, 'rest', 0x1)); row('rmdir .', call('unlinkat', -100, '.', 0x200));
    row('rmdir one that is full', do { file('directory/x'); call('unlinkat', -100, 'directory', 0x200) });
    row('mkdir below a file', call('mkdirat', -100, 'rest/x', 0755));
}
