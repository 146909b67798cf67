#!/usr/bin/env bash
# Makes the certificates of the tests afresh. The key of the root is thrown away, so that nobody can sign with it.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

key() { openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt; }

key >"$work/root.key"
openssl req -x509 -new -key "$work/root.key" -sha256 -days 36500 -subj '/CN=Drawbridge test root' \
  -addext 'basicConstraints=critical,CA:TRUE' -addext 'keyUsage=critical,keyCertSign,cRLSign' -out root.pem

cat >"$work/ca.cnf" <<CNF
[ca]
default_ca = test
[test]
new_certs_dir = $work
database = $work/index.txt
serial = $work/serial
default_md = sha256
policy = any
copy_extensions = copy
unique_subject = no
[any]
commonName = supplied
CNF
: >"$work/index.txt"
echo 1000 >"$work/serial"

# NAME SUBJECT NAMES FROM TO
leaf() {
  openssl req -new -key platform.key -subj "/CN=$2" \
    -addext 'basicConstraints=CA:FALSE' -addext "subjectAltName=$3" -addext 'extendedKeyUsage=serverAuth' -out "$work/$1.csr"
  openssl ca -batch -notext -config "$work/ca.cnf" -cert root.pem -keyfile "$work/root.key" \
    -startdate "$4" -enddate "$5" -in "$work/$1.csr" -out "$1.pem" 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
}

names='DNS:platform.example,DNS:platform.test,DNS:localhost,IP:127.0.0.1,IP:::1'
key >platform.key
chmod 600 platform.key
leaf platform platform.test "$names" 20260101000000Z 21260101000000Z
leaf expired platform.test "$names" 20200101000000Z 20210101000000Z
leaf future platform.test "$names" 20900101000000Z 20950101000000Z
leaf other other.example 'DNS:other.example' 20260101000000Z 21260101000000Z
# Signed by itself, as appliances come.
openssl req -x509 -new -key platform.key -sha256 -days 36500 -subj '/CN=appliance.test' \
  -addext 'basicConstraints=CA:FALSE' -addext "subjectAltName=$names" -out own.pem
