import BLE
import BLEBlueZ
import BLEProfiles
import BLETestSupport
import BLEBackendTesting
import Foundation
import BLEFakeBlueZ
import BlueZTestSupport
import Testing

/// The senders whose messages are accepted, on the real bluetoothd and the system's bus. Runs inside
/// `Scripts/with-bluez` only.
@Suite(.enabled(if: Guest.isHere), .serialized, .inGuest, .hangLimit)
struct RealTrustTests {
    private let peer = RealPeer()

    private func withStrap(_ check: (Peripheral) async throws -> Void) async throws {
        try await peer.reset()
        let central = try await Central()
        do {
            let strap = try await central.find()
            try await strap.connect()
            try await check(strap)
        } catch {
            await central.shutDown()
            throw error
        }
        await central.shutDown()
    }

    /// Lets an unprivileged user send a signal to every program on the system's bus, as if it were bluetoothd's or the
    /// bus's.
    private func forge(_ path: String, _ signal: String, _ arguments: String) async throws {
        try await peer.run(
            """
            for name in $(busctl --list --unique --no-legend | cut -d ' ' -f 1); do
                setpriv --reuid=65534 --regid=65534 --clear-groups gdbus emit --system --dest "$name" \
                    --object-path '\(path)' --signal '\(signal)' \(arguments) || exit
            done
            """)
    }

    @Test func `what another user sends is not believed`() async throws {
        try await withStrap { strap in
            var values = try await strap.notifications(EchoStrap.output).makeAsyncIterator()
            func hex(_ handle: UInt16) -> String { Hex.string([UInt8(handle >> 8), UInt8(handle & 0xFF)]) }
            let service = try #require(try await strap.services()[EchoStrap.service])
            let output = try #require(service.first { $0.uuid == EchoStrap.output.key.characteristic })
            let device = "/org/bluez/hci0/dev_F0_F1_F2_F3_F4_F5"
            try await forge(
                "\(device)/service\(hex(service.handle))/char\(hex(output.handle))",
                "org.freedesktop.DBus.Properties.PropertiesChanged",
                "\"'org.bluez.GattCharacteristic1'\" \"{'Value': <[byte 66]>}\" '@as []'")
            try await forge(
                "/org/freedesktop/DBus", "org.freedesktop.DBus.NameOwnerChanged", "org.bluez :1.999 \"''\"")
            try await forge(
                device, "org.freedesktop.DBus.Properties.PropertiesChanged",
                "\"'org.bluez.Device1'\" \"{'Connected': <false>}\" '@as []'")
            try await peer.notify([2])
            #expect(try await values.next() == [2])
            #expect(await strap.connectionState == .connected)
            #expect(await strap.central.adapterState == .poweredOn)
        }
    }

    @Test func `a peripheral that asks for it is not bonded with`() async throws {
        try await withStrap { strap in
            // The answer contains the result of the attempt, which is an error.
            _ = try? await peer.tell("pair")
            let state = try await strap.pairingState()
            #expect(state.isPaired == false)
            let bonds = try await peer.bonds()
            #expect(bonds == 0)
        }
    }

    @Test func `services that bluetoothd keeps to itself are named`() async throws {
        try await withStrap { strap in
            do {
                // In later versions, it is among the objects.
                let name = try await strap.read(Characteristic<String>(BluetoothUUID(0x2A00)))
                #expect(name == "Bumble HR")
            } catch let error as BLEError {
                #expect(error.code == .characteristicNotFound)
                #expect(error.message.contains("is hidden"))
            }
        }
    }
}
