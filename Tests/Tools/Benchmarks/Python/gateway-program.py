"""gateway-program {ble|theengs} DEVICES: the processor time and the memory of a gateway between Bluetooth and a broker.

The gateway is a program: `ble gateway` (BLE in the environment is its path), or TheengsGateway. It gets the reports of
fake-scan's sensors from the bus at DBUS_SYSTEM_BUS_ADDRESS and publishes them on a mosquitto that this program starts.
It is measured for 20 s, from the time on when most sensors are on the broker, and then ended. The first number is its
processor time in percent of a core, the second its resident memory in bytes.

The result is incomplete if fewer than 95 of 100 sensors are on the broker at the end.
"""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import paho.mqtt.client as mqtt

PERIOD = 20.0
TICKS = os.sysconf('SC_CLK_TCK')


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def address(number):
    # As fake-devices.h.
    code = number * 2654435761 % (1 << 32)
    parts = [0xC0 | code >> 26, code >> 18 & 0xFF, code >> 10 & 0xFF, code >> 2 & 0xFF, number >> 8, number & 0xFF]
    return ':'.join(f'{part:02X}' for part in parts)


def start_broker(folder, port):
    file = folder / 'mosquitto.conf'
    file.write_text(f'listener {port} 127.0.0.1\nallow_anonymous true\nuser root\nmax_queued_messages 0\n')
    program = shutil.which('mosquitto') or '/usr/sbin/mosquitto'
    return subprocess.Popen([program, '-c', file], stderr=subprocess.DEVNULL)


def start_gateway(name, folder, port, count):
    if name == 'theengs':
        return subprocess.Popen(
            [sys.executable, '-m', 'TheengsGateway', '--config', folder / 'theengs.json', '--host', '127.0.0.1',
             '--port', str(port), '--ble_scan_time', '3600', '--publish_topic', 'sensors', '--publish_all', '1',
             '--log_level', 'ERROR'],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    devices = {f'sensor{number}': {'address': address(number)} for number in range(count)}
    file = folder / 'gateway.json'
    file.write_text(json.dumps({'id': 'benchmark', 'broker': {'port': port}, 'devices': devices}))
    return subprocess.Popen([os.environ['BLE'], 'gateway', '--config', file], stderr=subprocess.DEVNULL)


def sensor(topic):
    """The sensor that a message is about, in either form."""
    parts = topic.split('/')
    if topic.startswith('sensors/'):
        return parts[-1].lower()
    return parts[2] if parts[-1] == 'state' and parts[1] == 'device' else None


def processor_time(process):
    fields = pathlib.Path(f'/proc/{process.pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory(process):
    status = pathlib.Path(f'/proc/{process.pid}/status').read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith('VmRSS'))


def measure(name, count, folder):
    port = free_port()
    broker = start_broker(folder, port)
    gateway = None
    seen = set()
    try:
        client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)
        client.on_connect = lambda client, *_: client.subscribe('#')
        client.on_message = lambda client, _, message: seen.add(sensor(message.topic))
        client.connect_async('127.0.0.1', port)
        client.loop_start()
        gateway = start_gateway(name, folder, port, count)
        limit = time.monotonic() + 60
        while len(seen) < 0.95 * count and time.monotonic() < limit and gateway.poll() is None:
            time.sleep(0.1)
        seen.clear()
        before = processor_time(gateway)
        time.sleep(PERIOD)
        percent = (processor_time(gateway) - before) / PERIOD * 100
        complete = len(seen) >= 0.95 * count
        print(1, 'complete' if complete else 'incomplete', f'{percent:.2f} {memory(gateway)}', flush=True)
        return complete
    finally:
        for process in (gateway, broker):
            if process:
                process.send_signal(signal.SIGKILL)
                process.wait()


def main():
    with tempfile.TemporaryDirectory() as folder:
        return measure(sys.argv[1], int(sys.argv[2]), pathlib.Path(folder))


sys.exit(not main())
