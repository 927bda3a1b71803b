import BLE
import BLEESPHome
import BLEProxy
import BLESimulation

let radio = await SimulatedRadio.demonstration()
await radio.addAdapter("hci1")
let central = try await Central(radios: [.simulated(radio, adapter: "hci0"), .simulated(radio, adapter: "hci1")])
let key = EncryptionKey.random()
print("the key of this hub:", key.text)
let hub = ProxyServer(central, .init(name: "hub", address: "AA:BB:CC:DD:EE:FF", key: key))
try await hub.run(host: CommandLine.arguments.dropFirst().first ?? "0.0.0.0")
