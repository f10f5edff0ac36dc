#!/bin/sh
# Healthy: the instances' user gets an answer. Over TCP, where the server that initialises the data does not listen yet.
MYSQL_PWD=$MYSQL_PASSWORD mysql -h 127.0.0.1 -u "$MYSQL_USER" "$MYSQL_DATABASE" -e 'SELECT 1' >/dev/null
