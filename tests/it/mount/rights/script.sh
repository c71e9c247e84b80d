# Run by root in $PLACE, an empty directory: what two users of three groups may do, and what becomes of modes, owners,
# ACLs and capabilities when they do it. Prints a line for each step: its exit status, the step, and what it left.
#
# Users: a = 1001 in groups 1001 and 2001, b = 1002 in groups 1002 and 2001; group 2002 is neither's.
cd "$PLACE" || exit 1
umask 022; : "${BELOW:=$PLACE}"
a() { setpriv --reuid=1001 --regid=1001 --groups=1001,2001 -- "$@"; }
b() { setpriv --reuid=1002 --regid=1002 --groups=1002,2001 -- "$@"; }
say() { "$@" >/dev/null 2>&1; echo "$? $*"; }
# mode, owner and group of files, by name
left() { stat -c "    %A %u:%g %s %n" "$@" 2>/dev/null | sed "s|^    \(d[^ ]* [^ ]*\) [0-9]* |    \1 |"; }
acl() { getfacl -cpn "$@" 2>/dev/null | sed '/^$/d; s/^/    /'; }

echo "== files of their maker"
mkdir -m 1777 shared; cd shared || exit 1
for mask in 000 022 027 077; do
    say a sh -c "umask $mask; : > file$mask; mkdir dir$mask; mkfifo fifo$mask; ln -s x link$mask"
    left *"$mask"
done

echo "== sticky directory"
say a touch theirs; a chmod 666 theirs
say b rm -f theirs; say b mv theirs mine; say b sh -c 'echo x >> theirs'; say b ln theirs hard; say a rm theirs
say a mkdir d; say b rmdir d; say a rmdir d; left ./*theirs* ./*hard* ./*mine*

echo "== setgid directories"
mkdir g; chgrp 2001 g; chmod 2775 g
mkdir other; chgrp 2002 other; chmod 2777 other
for place in g other; do
    for who in a b; do
        say $who sh -c "umask 002; cd $place; : > $who.file; mkdir $who.dir; mknod $who.fifo p; ln -s y $who.link"
        say $who python3 -c "import os; os.umask(0); os.close(os.open('$place/$who.sgid', os.O_CREAT | os.O_RDWR, 0o2775))"
        say $who python3 -c "import os; os.umask(0); os.mknod('$place/$who.node', 0o102755)"
        say $who python3 -c "import os; os.umask(0); os.mkdir('$place/$who.made', 0o2755)"
    done
    left $place/*
done

echo "== groups"
say a touch own; say a chgrp 2001 own; left own; say a chgrp 2002 own; say b chgrp 2001 own; say a chown 1002 own; left own
say a chmod 2755 own; left own; say a chgrp 1001 own; left own; say a chmod 6755 own; left own; say a chgrp 2001 own; left own
install -o 1001 -g 2002 -m 644 /dev/null foreign; say a chmod 2755 foreign; left foreign; say a chmod 4755 foreign; left foreign

echo "== set-id bits cleared"
# step, as whom, after a mode: the file belongs to 1001 and group 2002
for mode in 6777 4777 2777 6767 2767 2666 4666; do
    for who in a b root; do
        for step in 'echo x >> f' 'truncate -s 1 f' ': > f' 'chgrp 2001 f' 'chown 1001 f' 'touch f' 'dd if=/dev/zero of=f bs=4 count=1 conv=notrunc' 'cat f' 'chmod g+w f' 'ln f f2' 'mv f f2' 'fallocate -l 4096 f'; do
            rm -f f f2; printf 'content' > f; chown 1001:2002 f; chmod $mode f
            case $who in root) say sh -c "$step" ;; *) say $who sh -c "$step" ;; esac
            left f f2
        done
    done
done
rm -f f f2

echo "== ACLs"
say a sh -c 'umask 077; echo secret > s'; say b cat s; say a setfacl -m u:1002:r s; acl s; left s; say b cat s
say b sh -c 'echo x >> s'; say a setfacl -m g:2001:rw,m::rw s; acl s; say b sh -c 'echo x >> s'; say a chmod 600 s; acl s; say b cat s
say a chmod 660 s; acl s; say b cat s; say b setfacl -m u:1002:rwx s; say a setfacl -b s; acl s; left s; say b cat s
say a mkdir n; say a chmod 700 n; say a sh -c 'echo in > n/file'; say b cat n/file; say a setfacl -m u:1002:x n; say b cat n/file; say b ls n
say a setfacl -m u:1002:rx n; say b ls n; say b touch n/new; say a setfacl -m u:1002:--- n; say b ls n; acl n

echo "== default ACLs"
say a mkdir inherit; say a setfacl -d -m u:1002:rwx,g:2002:r,m::rwx,o::- inherit; acl inherit
for mask in 000 022 077; do
    say a sh -c "umask $mask; cd inherit; : > f$mask; mkdir d$mask; mknod p$mask p; install -m 755 /dev/null i$mask; ln -s z l$mask"
    for made in f d p i; do left inherit/$made$mask; acl inherit/$made$mask; done
done
say b sh -c 'umask 022; echo x > inherit/f000'; say b touch inherit/new; say a mkdir -p inherit/x/y/z; acl inherit/x/y/z
say a setfacl -k inherit; say a touch inherit/plain; left inherit/plain; acl inherit/plain

echo "== setgid and ACLs"
for group in 1001 2001 2002; do
    for who in a root; do
        for mode in 2755 2745 6755; do
            rm -f f; : > f; chown 1001:$group f; chmod $mode f
            case $who in root) say setfacl -m u:1002:r f ;; *) say $who setfacl -m u:1002:r f ;; esac
            left f
        done
    done
done
rm -f f
for group in 1001 2001 2002; do
    mkdir sg; chown 1001:$group sg; chmod 2755 sg; say a setfacl -m u:1002:r sg; left sg; rmdir sg
    mkdir sg; chown 1001:$group sg; chmod 2755 sg; say a setfacl -d -m u:1002:r sg; left sg; say a chgrp 2001 sg; left sg; rmdir sg
    for who in 'say a' say; do
        mkdir sg; chown 1001:$group sg; setfacl -m u:1002:r sg; chmod 2755 sg; $who setfacl -b sg; left sg; rmdir sg
    done
done

echo "== capabilities"
cp /bin/true prog; chown 1001:1001 prog; chmod 775 prog; setcap cap_net_raw+ep prog; getcap prog
say b sh -c 'echo x >> prog'; getcap prog; say a touch prog; getcap prog; say a cat prog; getcap prog
say a chmod 777 prog; getcap prog; say a sh -c 'echo x >> prog'; getcap prog
setcap cap_net_raw+ep prog; say truncate -s 100 prog; getcap prog; setcap cap_net_raw+ep prog; say chown 1002 prog; getcap prog
say b setcap cap_net_raw+ep prog; getcap prog; setcap cap_net_raw+ep prog; say mv prog prog2; getcap prog2
say a setfattr -x security.capability prog2; getcap prog2; say b setfattr -x security.capability prog2; getcap prog2

echo "== extended attributes"
say a touch x; say a setfattr -n user.k -v v x; say b setfattr -n user.k -v w x; say b getfattr -n user.k x; say a setfattr -n trusted.k -v v x
say setfattr -n trusted.k -v v x; say getfattr -n trusted.k x; say b getfattr -n trusted.k x; getfattr -d -m - x 2>/dev/null
say a getfattr -d -m - x; say a setfattr -n security.k -v v x; say a setfattr -x user.k x; say a setfattr -x user.k x
say a ln -s x xl; say a setfattr -h -n user.k -v v xl; say setfattr -h -n trusted.k -v v xl; getfattr -h -d -m - xl 2>/dev/null

echo "== times"
say a touch -d @1000000000 x; say b touch -d @1000000000 x; say b touch x; a chmod 666 x; say b touch x; say b touch -d @1 x; say b touch -a x
stat -c '    %U %a %n' x

echo "== devices and links"
say a mknod dev c 1 3; say mknod dev c 1 3; left dev; say a ln s hard; say b ln prog2 hard2; say a ln x hard3; left hard hard2 hard3

echo "== flags"
touch im ap; chown 1001 im ap
if chattr +i "$BELOW/shared/im" 2>/dev/null && chattr +a "$BELOW/shared/ap" 2>/dev/null; then
    for who in a root; do
        for step in 'echo x > im' 'echo x >> im' 'rm -f im' 'mv im im2' 'ln im im3' 'chmod 600 im' 'touch -d @5 im' 'truncate -s 0 im' 'setfattr -n user.i -v v im' 'cat im' \
            'echo x > ap' 'echo x >> ap' 'rm -f ap' 'mv ap ap2' 'ln ap ap3' 'chmod 600 ap' 'touch -d @5 ap' 'truncate -s 0 ap' 'setfattr -n user.i -v v ap' 'cat ap' \
            'dd if=/dev/zero of=ap bs=4 count=1 conv=notrunc' 'dd if=/dev/zero of=ap bs=4 count=1 oflag=append conv=notrunc'; do
            case $who in root) say sh -c "$step" ;; *) say $who sh -c "$step" ;; esac
            left im ap
        done
    done

    chattr -i "$BELOW/shared/im"; chattr -a "$BELOW/shared/ap"
fi

echo "== overwritten and removed by others"
say a sh -c 'umask 0; : > w; mkdir wd'; say b sh -c ': > w'; say b rm w; say b rmdir wd; say b sh -c ': > wd/f'; left w wd/f
cd ..; say a rmdir shared; say b rm -rf shared/g; find . -exec stat -c '%A %u:%g %n' {} + | sort -k3
