"""A durable MQTT 5 session: subscribes and leaves, or prints what waited for it.

usage: subscriber.py PORT CLIENT_ID FILTER arrive|drain

`drain` writes `topic payload` for each message up to one whose topic ends in `/end`.
"""

import sys

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties


def main():
    port, client_id, filter_, what = int(sys.argv[1]), *sys.argv[2:5]
    done = False

    def on_connect(client, _data, flags, reason, _properties):
        if reason.is_failure:
            sys.exit(f"refused: {reason}")
        if what == "arrive":
            client.subscribe(filter_, qos=2)
        elif not flags.session_present:
            sys.exit("the session is gone")

    def on_subscribe(_client, _data, _mid, reasons, _properties):
        nonlocal done
        if [reason.value for reason in reasons] != [2]:
            sys.exit(f"not granted: {reasons}")
        done = True

    def on_message(_client, _data, message):
        nonlocal done
        sys.stdout.write(f"{message.topic} {message.payload.decode()}\n")
        done = done or message.topic.endswith("/end")

    client = mqtt.Client(
        mqtt.CallbackAPIVersion.VERSION2, client_id=client_id, protocol=mqtt.MQTTv5
    )
    client.on_connect = on_connect
    client.on_subscribe = on_subscribe
    client.on_message = on_message
    properties = Properties(PacketTypes.CONNECT)
    properties.SessionExpiryInterval = 3600
    client.connect("127.0.0.1", port, clean_start=False, properties=properties)
    while not done:
        rc = client.loop(1.0)
        if rc != 0:
            sys.exit(f"lost: {rc}")
    while client.want_write():
        client.loop_write()
    client.disconnect()
    sys.stdout.flush()


main()
