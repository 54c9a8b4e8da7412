"""Publishes numbered messages and says which were acknowledged.

usage: publisher.py PORT CLIENT_ID TOPIC QOS COUNT WINDOW

Writes `connected 0|1` (whether a session was there), `acked N` for each acknowledgement,
`lost` when the connection ends early, and `done`. After `lost` a line with a port on stdin makes
it connect there and go on; the end of stdin ends it. MQTT 5, in one thread.
"""

import sys

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties


def say(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main():
    port, client_id, topic = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    qos, count, window = (int(text) for text in sys.argv[4:7])
    numbers = {}
    acked = 0

    def on_connect(_client, _data, flags, reason, _properties):
        if reason.is_failure:
            sys.exit(f"refused: {reason}")
        say(f"connected {int(flags.session_present)}")

    def on_publish(_client, _data, mid, reason, _properties):
        nonlocal acked
        if reason is not None and reason.is_failure and reason.value != 0x92:
            sys.exit(f"not accepted: {reason}")
        acked += 1
        say(f"acked {numbers.pop(mid)}")

    client = mqtt.Client(
        mqtt.CallbackAPIVersion.VERSION2, client_id=client_id, protocol=mqtt.MQTTv5
    )
    client.max_inflight_messages_set(window)
    client.on_connect = on_connect
    client.on_publish = on_publish
    properties = Properties(PacketTypes.CONNECT)
    properties.SessionExpiryInterval = 3600
    sent = 0
    while True:
        rc = 0
        try:
            client.connect("127.0.0.1", port, clean_start=False, properties=properties)
        except OSError:
            rc = mqtt.MQTT_ERR_CONN_LOST
        # The window opens with the CONNACK.
        while rc == 0 and not client.is_connected():
            rc = client.loop(1.0)
        while rc == 0 and acked < count:
            while sent < count and sent - acked < window:
                info = client.publish(topic, f"{sent:06d}" + "x" * 58, qos=qos)
                numbers[info.mid] = sent
                sent += 1
            rc = client.loop(1.0)
        if acked == count:
            break
        say("lost")
        line = sys.stdin.readline()
        if not line:
            return
        port = int(line)
    client.disconnect()
    say("done")


main()
