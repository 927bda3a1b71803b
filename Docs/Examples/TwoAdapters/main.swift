import BLE
import BLEBlueZ

let central = try await Central(radios: [.bluez(adapter: "hci0"), .bluez(adapter: "hci1")])
for try await found in central.discoveries() {
    print(found.peripheral.id, found.radio ?? "-", found.advertisement.rssi ?? 0)
    for path in await found.paths { print("  ", path.radio, path.rssi ?? 0, path.obstacle?.rawValue ?? "") }
}
