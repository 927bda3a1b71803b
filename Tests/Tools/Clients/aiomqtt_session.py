"""A client of a gateway's broker on aiomqtt (PyPI): aiomqtt_session.py PORT DEVICE.

It reads what the broker has retained of the gateway and the device, and sends three commands at once, each with
correlation data of its own. Each line of its output is JSON: a message with its topic, or an answer with its correlation
data.
"""

from __future__ import annotations

import asyncio
import json
import sys

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

ANSWERS = 'clients/python/answers'


def show(**entry: object) -> None:
    print(json.dumps(entry, sort_keys=True), flush=True)


async def retained(client: aiomqtt.Client, topics: set[str]) -> None:
    """Shows a message of each topic, with whether the broker had kept it."""
    for topic in sorted(topics):
        await client.subscribe(topic, qos=1)
    async for message in client.messages:
        topic = str(message.topic)
        if topic in topics:
            topics.remove(topic)
            text = bytes(message.payload).decode()
            payload = json.loads(text) if text.startswith('{') else text
            show(topic=topic, retained=message.retain, payload=payload)
        if not topics:
            return


async def ask(client: aiomqtt.Client, device: str, commands: dict[bytes, object]) -> None:
    """Sends commands, and shows the answers in the order of their correlation data."""
    await client.subscribe(ANSWERS, qos=1)
    for correlation, command in commands.items():
        properties = Properties(PacketTypes.PUBLISH)
        properties.ResponseTopic = ANSWERS
        properties.CorrelationData = correlation
        await client.publish(f'ble/device/{device}/command', json.dumps(command), qos=1, properties=properties)
    answers: dict[bytes, object] = {}
    async for message in client.messages:
        if str(message.topic) == ANSWERS:
            answers[message.properties.CorrelationData] = json.loads(message.payload)
        if answers.keys() == commands.keys():
            break
    for correlation, answer in sorted(answers.items()):
        show(correlation=correlation.hex(), answer=answer)


async def main(port: int, device: str) -> None:
    async with aiomqtt.Client('127.0.0.1', port, protocol=aiomqtt.ProtocolVersion.V5) as client:
        await retained(
            client,
            {
                'ble/gateway/kitchen/state',
                f'ble/device/{device}/availability',
                f'ble/device/{device}/state',
                f'homeassistant/device/ble_{device}/config',
            },
        )
        read = {'read': '180f/2a19'}
        await ask(client, device, {bytes([0, 0xFF]): read, b'second': {'id': 'b', **read}, b'third': {'reed': '2a19'}})


asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
