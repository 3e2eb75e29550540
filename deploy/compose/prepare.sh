#!/bin/sh
# Prepares four hospitals for deploy/compose.yaml: tables, schema, plan, certificates.
#
# Writes federation/NAME for every hospital into the working folder, or nothing if
# federation is there already. Needs HOSPITALS (their names), ADDRESSES (NAME=host:port,
# where they reach each other) and EXAMPLE (the folder of divide.py).
set -eu
if [ -d federation ]; then
  echo "federation is there already. Remove the volume to start afresh."
  exit 0
fi
new=.new # becomes federation once it is complete
rm -rf "$new"
mkdir "$new"

echo "== Real tables of four hospitals; a third of the patients is kept to test on"
dssfn data heart --out "$new/heart"
python "$EXAMPLE/divide.py" "$new/heart" "$new/tables"

echo "== Every hospital describes its columns"
schemas=''
for name in $HOSPITALS; do
  dssfn schema "$new/tables/$name/train.csv" --target num \
    --group healthy=0 --group sick=1,2,3,4 --out "$new/$name.toml"
  schemas="$schemas $new/$name.toml"
done

echo "== One schema, one plan, and a folder with a key for every hospital"
# shellcheck disable=SC2086
dssfn schema merge $schemas --out "$new/schema.toml"
# shellcheck disable=SC2046,SC2086
dssfn federation init "$new/federation" --schema "$new/schema.toml" \
  --nodes "$(echo $HOSPITALS | tr ' ' ,)" --round-deadline 10 \
  $(printf -- '--address %s ' $ADDRESSES)
for name in $HOSPITALS; do
  node="$new/federation/$name"
  cp "$new/tables/$name/train.csv" "$node/data.csv"
  cp "$new/tables/$name/test.csv" "$node/test.csv"
  mkdir -m 0700 "$node/out"
  sed -i -e 's/^# test = /test = /' -e 's/^# page = /page = /' \
    -e 's/^# log_format = /log_format = /' \
    -e 's/^# metrics = "127.0.0.1:/metrics = "0.0.0.0:/' "$node/node.toml"
done
mv "$new/federation" federation
rm -rf "$new"
