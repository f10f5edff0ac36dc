// Written by go test ./versions -update, from versions/versions.go.
export const versions = [
  {
    "name": "v0",
    "title": "none, atomic",
    "loses": false
  },
  {
    "name": "v1",
    "title": "none",
    "loses": true
  },
  {
    "name": "v2",
    "title": "process mutex",
    "loses": true
  },
  {
    "name": "v3",
    "title": "Redis lock",
    "loses": false
  },
  {
    "name": "v4",
    "title": "RedLock",
    "loses": false
  },
  {
    "name": "v5",
    "title": "database row",
    "loses": false
  },
  {
    "name": "v6",
    "title": "ZooKeeper",
    "loses": false
  },
  {
    "name": "v7",
    "title": "etcd",
    "loses": false
  },
  {
    "name": "v8",
    "title": "Memcached",
    "loses": false
  }
];
