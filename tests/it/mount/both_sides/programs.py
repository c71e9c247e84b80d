"""What people run in one directory, some of them above a mount and some below: a database, a mailbox, a spool, a file that is replaced.

Usage: PROGRAM NUMBER ARGUMENTS, or PROGRAM verify ARGUMENTS TOLD... with what each of the four printed.
"""

import os
import sqlite3
import sys
import time

PATIENCE = 60


def database(number, journal, seconds):
    """Inserts rows, each in a transaction of its own; prints how many were committed."""
    connection = sqlite3.connect("data.db", timeout=PATIENCE, isolation_level=None)
    connection.execute("PRAGMA journal_mode=" + journal)
    connection.execute("PRAGMA synchronous=OFF")
    connection.execute("CREATE TABLE IF NOT EXISTS rows (number INTEGER, count INTEGER, filling TEXT)")
    committed = 0
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        connection.execute("BEGIN IMMEDIATE")
        before = connection.execute("SELECT COUNT(*) FROM rows WHERE number = ?", (number,)).fetchone()[0]
        assert before == committed, (before, committed)
        connection.execute("INSERT INTO rows VALUES (?, ?, ?)", (number, committed, "x" * 200))
        connection.execute("COMMIT")
        committed += 1
    print(committed)


def verify_database(_journal, _seconds, *told):
    connection = sqlite3.connect("data.db")
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    for number, committed in enumerate(told):
        rows = connection.execute("SELECT count FROM rows WHERE number = ? ORDER BY count", (str(number),)).fetchall()
        assert [row[0] for row in rows] == list(range(int(committed))), (number, committed, len(rows))
        assert int(committed) > 0, number


def lock(name):
    end = time.monotonic() + PATIENCE
    while True:
        try:
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            return
        except FileExistsError:
            assert time.monotonic() < end, "the lock is never free"
            time.sleep(0.001)


def mailbox(number, rounds):
    """Appends messages at the end of one file, which a lock file guards; every tenth time the file is written anew and replaced."""
    for count in range(int(rounds)):
        lock("mbox.lock")
        try:
            with open("mbox", "r+b" if os.path.exists("mbox") else "w+b") as box:
                before = box.read()
                assert before.count(b"\n") * 64 == len(before), "a torn message"
                box.seek(0, os.SEEK_END)
                assert box.tell() == len(before), "an old size"
                box.write(f"{number} {count}".encode().ljust(63) + b"\n")
            assert os.stat("mbox").st_size == len(before) + 64, "an old size after writing"
            if count % 10 == 9:
                with open("mbox.new", "wb") as new, open("mbox", "rb") as old:
                    new.write(old.read())
                os.rename("mbox.new", "mbox")
        finally:
            os.unlink("mbox.lock")
    print(rounds)


def verify_mailbox(rounds, *_told):
    with open("mbox", "rb") as box:
        messages = [line.split() for line in box]
    for number in range(4):
        counts = [int(count) for own, count in messages if int(own) == number]
        assert counts == list(range(int(rounds))), (number, counts)


def spool(number, rounds):
    """Puts jobs into a directory, first under another name, with a marker for each; takes those of the neighbour."""
    os.makedirs("spool", exist_ok=True)
    neighbour = (int(number) + 1) % 4
    for count in range(int(rounds)):
        name = f"spool/{number}-{count}"
        with open(name + ".tmp", "w") as job:
            job.write(name * 10)
        os.rename(name + ".tmp", name)
        os.close(os.open(name + ".done", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        wanted = f"spool/{neighbour}-{count}"
        end = time.monotonic() + PATIENCE
        # Who looks for a job before it is there must find it once its marker is.
        while not os.path.exists(wanted + ".done"):
            os.path.exists(wanted)
            assert time.monotonic() < end, "the marker does not come"
            time.sleep(0.0005)
        with open(wanted) as job:
            assert job.read() == wanted * 10, "another content"
        os.unlink(wanted)
        os.unlink(wanted + ".done")
    print(rounds)


def verify_spool(_rounds, *_told):
    assert os.listdir("spool") == [], os.listdir("spool")


def replace(number, rounds):
    """Adds to numbers in a file that each replaces, under a lock file."""
    for _ in range(int(rounds)):
        lock("counters.lock")
        try:
            counters = [0] * 4
            if os.path.exists("counters"):
                with open("counters") as old:
                    counters = [int(word) for word in old.read().split()]
            counters[int(number)] += 1
            with open(f"counters.{number}", "w") as new:
                new.write(" ".join(map(str, counters)))
            os.rename(f"counters.{number}", "counters")
        finally:
            os.unlink("counters.lock")
    print(rounds)


def verify_replace(rounds, *_told):
    with open("counters") as counters:
        assert counters.read().split() == [rounds] * 4


program, number, *arguments = sys.argv[1:]
if number == "verify":
    globals()["verify_" + program](*arguments)
else:
    globals()[program](number, *arguments)
