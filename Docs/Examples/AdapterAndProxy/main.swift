import BLE
import BLEBlueZ
import BLEESPHome
import BLEProfiles

// Ends at Ctrl-C at the latest. An error, such as that of a wrong key, is written to standard error.
await runProgram {
    let (host, key) = (CommandLine.arguments[1], try EncryptionKey(CommandLine.arguments[2]))
    let central = try await Central(radios: [.bluez(adapter: "hci0"), .esphome(host, key: key)])
    do {
        let strap = try await central.first(matching: .service(.heartRate)).peripheral
        try await strap.connect()
        print(await strap.radio ?? "-", try await strap.read(.batteryLevel), "%")
    } catch {
        await central.shutDown()
        throw error
    }
    await central.shutDown()
}
