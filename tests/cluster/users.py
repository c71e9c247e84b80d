"""Several users at work at once in one directory; prints what each operation of each of them gave, as JSON.

Arguments: the directory, the number of rounds, and the uids. Each user has a process, a file and a directory that only he may use, and in
each round tries all operations on his own and on the next user's. What is made is asked for its owner.
"""

import errno
import json
import os
import shutil
import sys


class User:
    def __init__(self, uid, next_uid):
        self.uid, self.own, self.other = uid, str(uid), str(next_uid)

    def become(self):
        os.setgroups([])
        os.setresgid(self.uid, self.uid, self.uid)
        os.setresuid(self.uid, self.uid, self.uid)

    def prepare(self):
        os.mkdir(self.own, 0o700)
        for name in ("-private", "-moved"):
            self.write(self.own + name, 0o600)
        self.write(self.own + "/within", 0o644)

    def write(self, path, mode):
        with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, mode), "wb") as file:
            file.write(b"of %d" % self.uid)

    def operations(self):
        """Name, and what to do; each leaves things as they were."""
        own, other, mine = self.own, self.other, self.own + "-caf\u00e9?"

        def made(make, remove=os.unlink):
            def do():
                make(mine)
                owner = os.lstat(mine).st_uid
                remove(mine)
                return owner

            return do

        yield "make a file", made(lambda path: self.write(path, 0o600))
        yield "make a directory", made(os.mkdir, os.rmdir)
        yield "make a symlink", made(lambda path: os.symlink("target", path))
        yield "make a pipe", made(os.mkfifo)
        yield "link", made(lambda path: os.link(own + "-private", path))
        yield "rename", lambda: (os.rename(own + "-moved", mine), os.rename(mine, own + "-moved"))
        for whose, path in (("own", own), ("another's", other)):
            yield f"read {whose} file", lambda path=path: open(path + "-private", "rb").close()
            yield f"list {whose} directory", lambda path=path: "within" in os.listdir(path)
            yield f"see into {whose} directory", lambda path=path: os.lstat(path + "/within").st_uid
            yield f"make in {whose} directory", lambda path=path: (os.mkdir(path + f"/{self.uid}"), os.rmdir(path + f"/{self.uid}"))
            yield f"mode of {whose} file", lambda path=path: os.chmod(path + "-private", 0o600)
            yield f"times of {whose} file", lambda path=path: os.utime(path + "-private")
            yield f"cut {whose} file", lambda path=path: os.truncate(path + "-private", 4)
            yield f"attribute of {whose} file", lambda path=path: os.setxattr(path + "-private", "user.of", b"%d" % self.uid)
        yield "give away", lambda: os.chown(own + "-private", 65534, -1)
        yield "take back", lambda: os.chown(own + "-private", self.uid, -1)
        yield "remove another's file", lambda: os.unlink(other + "-private") if self.uid else None

    def work(self, rounds):
        given = {}
        for _ in range(rounds):
            for name, do in self.operations():
                try:
                    result = str(do())
                except OSError as error:
                    result = errno.errorcode[error.errno]
                given.setdefault(name, []).append(result)
        return {name: sorted(set(results)) for name, results in given.items()}


def main():
    place, rounds, uids = sys.argv[1], int(sys.argv[2]), [int(word) for word in sys.argv[3:]]
    os.mkdir(place)
    os.chmod(place, 0o1777)
    # What lies above it may be closed to them.
    os.chdir(place)
    users = [User(uid, uids[(number + 1) % len(uids)]) for number, uid in enumerate(uids)]
    ends = []
    # All have what is theirs before any begins.
    start, starting = os.pipe()
    for user in users:
        ready, telling = os.pipe()
        answer, answering = os.pipe()
        if os.fork() == 0:
            os.close(starting)
            user.become()
            user.prepare()
            os.write(telling, b"1")
            os.read(start, 1)
            told = user.work(rounds)
            with open(answering, "w", encoding="utf-8") as file:
                json.dump(told, file)
            os._exit(0)
        os.close(telling)
        os.close(answering)
        os.read(ready, 1)
        ends.append(answer)
    os.close(starting)
    told = {user.uid: json.load(open(end, encoding="utf-8")) for user, end in zip(users, ends)}
    os.chdir("/")
    shutil.rmtree(place)
    print(json.dumps(told))


main()
