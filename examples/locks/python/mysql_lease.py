"""A lease in a row of MySQL as a program for app lab try: the statements of docs/choose.md, "A lease in MySQL". Install: see
requirements.txt.

The database's clock decides, so those of the machines may differ. The row stays when the lease ends, so the token never shrinks.
"""
import os, re, sys, threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "template-python"))
import lab
import pymysql

CREATE = """CREATE TABLE IF NOT EXISTS leases (name VARBINARY(255) PRIMARY KEY, owner VARBINARY(255) NOT NULL,
    expires DATETIME(6) NOT NULL, token BIGINT NOT NULL)"""
TAKE = """UPDATE leases SET owner = %s, expires = UTC_TIMESTAMP(6) + INTERVAL %s MICROSECOND, token = LAST_INSERT_ID(token + 1)
    WHERE name = %s AND expires <= UTC_TIMESTAMP(6)"""
FIRST = "INSERT IGNORE INTO leases VALUES (%s, %s, UTC_TIMESTAMP(6) + INTERVAL %s MICROSECOND, 1)"
RENEW = "UPDATE leases SET expires = UTC_TIMESTAMP(6) + INTERVAL %s MICROSECOND WHERE name = %s AND owner = %s"
RELEASE = "UPDATE leases SET owner = '', expires = UTC_TIMESTAMP(6) WHERE name = %s AND owner = %s"


class Database:
    """One connection, with a time limit in seconds for each answer. After an error the next statement opens another one."""

    def __init__(self, address, timeout):
        user, host, port, name = re.fullmatch(r"mysql:(\w+)@tcp\((.+):(\d+)\)/(\w+)", address).groups()
        self.options = dict(user=user, host=host, port=int(port), database=name, autocommit=True,
                            connect_timeout=timeout, read_timeout=timeout, write_timeout=timeout)
        self.connection, self.mutex = None, threading.Lock()
        self(CREATE)

    def __call__(self, statement, *values):
        """Returns how many rows were written, and LAST_INSERT_ID."""
        with self.mutex:
            try:
                if self.connection is None:
                    self.connection = pymysql.connect(**self.options)
                with self.connection.cursor() as cursor:
                    return cursor.execute(statement, values), cursor.lastrowid
            except Exception:
                self.connection = None
                raise


class Lease:
    """owner is a random name of one grant."""

    def __init__(self, database):
        self.database = database

    def acquire(self, key, owner, lease_ms):
        """Returns the token of the grant, or 0."""
        rows, token = self.database(TAKE, owner, lease_ms * 1000, key)
        if rows:
            return token
        rows, _ = self.database(FIRST, key, owner, lease_ms * 1000)
        return rows

    def renew(self, key, owner, lease_ms):
        return self.database(RENEW, lease_ms * 1000, key, owner)[0]

    def release(self, key, owner):
        return self.database(RELEASE, key, owner)[0]


if __name__ == "__main__":
    lab.attempts(Lease, f"lease in MySQL, PyMySQL {pymysql.VERSION_STRING}", Database, store="database", renews=True, tokens=True,
                 tells_loss=True, extends=True)
