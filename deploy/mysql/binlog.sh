#!/bin/sh
# Lets the instances' user read the binlog, for the cache c6. The image runs this once, when the data is made.
MYSQL_PWD=$MYSQL_ROOT_PASSWORD mysql -u root -e "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO '$MYSQL_USER'@'%'"
