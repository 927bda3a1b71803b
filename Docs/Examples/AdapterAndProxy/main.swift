import BLE
import BLEBlueZ
import BLEESPHome
import BLEProfiles

let (host, key) = (CommandLine.arguments[1], try EncryptionKey(CommandLine.arguments[2]))
let central = try await Central(radios: [.bluez(adapter: "hci0"), .esphome(host, key: key)])
let strap = try await central.first(matching: .service(.heartRate)).peripheral
try await strap.connect()
print(await strap.radio ?? "-", try await strap.read(.batteryLevel), "%")
