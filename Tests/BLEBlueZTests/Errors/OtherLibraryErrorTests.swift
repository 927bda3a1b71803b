import BLE
import BLEBackendTesting
import BLEFeatures
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import DBus
import Testing

/// For each error of an earlier library, a call of a program throws the corresponding error.
@Suite(.startsProcesses, .hangLimit)
struct OtherLibraryErrorTests {
    /// A central on a fake bluetoothd, and the contract's peripheral.
    struct Scene: Sendable {
        let peer: FakePeer
        let central: Central

        func strap() async throws -> Peripheral {
            let strap = try await central.find()
            try await strap.connect()
            return strap
        }
    }

    /// Calls that throw an error.
    struct Provocation: Sendable, CustomTestStringConvertible {
        let code: BLEError.Code
        /// The properties of the error that are set, by the page's words.
        let details: Set<String>
        let provoke: @Sendable (Scene) async throws -> Void

        init(
            _ code: BLEError.Code, _ details: Set<String> = [],
            provoke: @escaping @Sendable (Scene) async throws -> Void
        ) {
            (self.code, self.details, self.provoke) = (code, details, provoke)
        }

        /// A connect to which bluetoothd answers with an error.
        static func connecting(
            _ code: BLEError.Code, _ answer: DBusError, _ details: Set<String> = []
        ) -> Provocation {
            Provocation(code, details) { scene in
                let strap = try await scene.central.find()
                await scene.peer.daemon.fail("Connect", answer)
                try await strap.connect()
            }
        }

        /// A read to which bluetoothd answers with an error.
        static func reading(_ code: BLEError.Code, _ answer: DBusError, _ details: Set<String>) -> Provocation {
            Provocation(code, details) { scene in
                let strap = try await scene.strap()
                await scene.peer.daemon.fail("ReadValue", answer)
                _ = try await strap.read(EchoStrap.output)
            }
        }

        var testDescription: String { code.rawValue }
    }

    static let provocations: [Provocation] = adapter + links + attributes + requests

    private static let adapter: [Provocation] = [
        Provocation(.bluetoothUnavailable) { scene in
            await scene.peer.stopBluetooth()
            // The bus may notice it later than this process.
            await until { await scene.central.adapterState == .resetting }
            _ = try await scene.peer.makeCentral(.quiet())
        },
        Provocation(.adapterNotFound) { scene in
            await scene.peer.unplug()
            _ = try await scene.peer.makeCentral(.quiet())
        },
        Provocation(.blocked) { scene in
            await scene.peer.daemon.setBlocked(true)
            try await scene.central.setPowered(true)
        },
        Provocation(.scanFailed, ["cause"]) { scene in
            await scene.peer.daemon.fail("StartDiscovery", .bluez("Failed", "Input/output error"))
            _ = try await scene.central.find()
        },
        Provocation(.shutDown) { scene in
            await scene.central.shutDown()
            try await scene.central.peripheral(EchoStrap.id).connect()
        },
    ]

    private static let links: [Provocation] = [
        .connecting(.poweredOff, .bluez("NotReady", "Resource Not Ready")),
        .connecting(.unauthorized, .bus("AccessDenied", "no")),
        .connecting(.connectionFailed, .bluez("Failed", "le-connection-unknown"), ["cause"]),
        .connecting(.connectionCancelled, .bluez("Failed", "br-connection-canceled")),
        .connecting(.pairingRequired, .bluez("Failed", "le-connection-key-missing"), ["cause"]),
        .connecting(.serviceDiscoveryFailed, .bluez("Failed", "le-connection-gatt-browsing"), ["cause"]),
        Provocation(.peripheralNotFound) { scene in
            let clock = ManualClock()
            let central = try await scene.peer.makeCentral(.quiet(clock: clock))
            let connecting = Task { try await central.peripheral("00:11:22:33:44:55").connect() }
            await until { await central.isScanning }
            await clock.sleepers(1, for: .seconds(20))
            clock.advance(by: .seconds(20))
            let result = await connecting.result
            await central.shutDown()
            try result.get()
        },
        Provocation(.disconnectionFailed, ["cause"]) { scene in
            let strap = try await scene.strap()
            await scene.peer.daemon.fail("Disconnect", .bluez("Failed", "Input/output error"))
            try await strap.disconnect()
        },
        Provocation(.disconnected, ["disconnectReason"]) { scene in
            let strap = try await scene.strap()
            var values = try await strap.notifications(EchoStrap.output).makeAsyncIterator()
            await scene.peer.daemon.sayReason("org.bluez.Reason.Timeout", "Connection timeout")
            await scene.peer.loseLink()
            _ = try await values.next()
        },
    ]

    private static let attributes: [Provocation] = [
        Provocation(.serviceNotFound, ["missingUUIDs"]) { scene in
            let absent = Characteristic<[UInt8]>(BluetoothUUID(0x2A19), service: BluetoothUUID(0x1234))
            _ = try await scene.strap().read(absent)
        },
        Provocation(.characteristicNotFound, ["missingUUIDs"]) { scene in
            _ = try await scene.strap().read(Characteristic<[UInt8]>(BluetoothUUID(0x1234)))
        },
        Provocation(.invalidValue, ["characteristic"]) { scene in
            let number = Characteristic<UInt16>(EchoStrap.output.uuid, service: EchoStrap.service)
            _ = try await scene.strap().read(number)
        },
        .reading(
            .attributeError, .bluez("Failed", "Operation failed with ATT error: 0x80"),
            ["attError", "cause", "characteristic"]),
        .reading(.failed, .bluez("Failed", "Operation failed"), ["cause", "characteristic"]),
        Provocation(.timedOut) { scene in
            _ = try await scene.strap().read(EchoStrap.slow, timeout: .zero)
        },
        Provocation(.cancelled) { scene in
            let values = try await scene.strap().notifications(EchoStrap.output)
            let reading = Task { for try await _ in values {} }
            reading.cancel()
            try await reading.value
        },
    ]

    private static let requests: [Provocation] = [
        Provocation(.commandTimedOut) { scene in
            let adapter = ELM327(
                try await scene.strap(), service: EchoStrap.service, notifying: EchoStrap.output.uuid,
                written: EchoStrap.input.uuid)
            do throws(BLEError) {
                _ = try await adapter.send("ATZ", timeout: .zero)
            } catch {
                #expect(error.message.contains("ATZ"))
                throw error
            }
        },
        Provocation(.notSupported) { scene in
            _ = try await scene.strap().request([1], on: EchoStrap.input)
        },
        Provocation(.requestInProgress) { scene in
            let strap = try await scene.strap()
            let (answers, answer) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            let waiting = Task {
                try await strap.request([0xEE], on: EchoStrap.controlPoint) { _ in
                    answer.yield()
                    return false
                }
            }
            defer { waiting.cancel() }
            for await _ in answers { break }
            _ = try await strap.request([1], on: EchoStrap.controlPoint)
        },
    ]

    @Test(arguments: provocations)
    func `each code that stands for an earlier error is thrown`(_ provocation: Provocation) async throws {
        let peer = try await FakePeer()
        let scene = Scene(peer: peer, central: try await peer.makeCentral(.quiet()))
        let thrown = await expectError(provocation.code) { try await provocation.provoke(scene) }
        let error = try #require(thrown)
        for detail in provocation.details { #expect(Self.details(of: error).contains(detail), "\(detail): \(error)") }
        await peer.release()
        await scene.central.shutDown()
    }

    /// The properties that are set, by the page's words.
    private static func details(of error: BLEError) -> Set<String> {
        let details: [String: Bool] = [
            "missingUUIDs": !error.missingUUIDs.isEmpty, "cause": error.cause != nil, "attError": error.attError != nil,
            "characteristic": error.characteristic != nil, "disconnectReason": error.disconnectReason != nil,
        ]
        return Set(details.filter { $0.value }.keys)
    }

    // MARK: The table

    /// All errors of RVS_BTDriver, which had more than any other library.
    private static let driver: Set = [
        "bluetoothNotAvailable", "connectionAttemptFailed(cause)", "connectionAttemptFailedNoDevice",
        "disconnectionAttemptFailed(cause)", "unknownDisconnectionError", "unknownPeripheralDiscoveryError(cause)",
        "characteristicValueMissing", "unknownCharacteristicsDiscoveryError(cause)",
        "unknownCharacteristicsReadValueError(cause)", "unknownError(cause)", "commandTimeout",
    ]

    @Test func `each earlier error has codes and details that are thrown`() throws {
        let page = try ErrorPage()
        let codes = Set(try page.codes.map { $0[0] })
        let rows = try page.rows("Coming from another library")
        let listed = Set(rows.map { $0[0] })
        #expect(listed.isSuperset(of: Self.driver.map { "RVS_BTDriver: \($0)" }))
        for row in rows {
            let words = try page.words(inRow: row[0])
            let thrown = Self.provocations.filter { words.contains($0.code.rawValue) }
            #expect(!thrown.isEmpty, "\(row)")
            #expect(words.intersection(codes) == Set(thrown.map(\.code.rawValue)), "\(row)")
            let details = thrown.reduce(into: Set<String>()) { $0.formUnion($1.details) }
            #expect(words.subtracting(codes).subtracting(details) == [], "\(row)")
            if row[0].hasSuffix("(cause)") {
                #expect(thrown.allSatisfy { $0.details.contains("cause") }, "\(row)")
                #expect(words.contains("cause"), "\(row)")
            }
        }
    }

    /// A general timeout there corresponds to a specific one here.
    @Test func `a command's timeout is the code of BLEFeatures`() throws {
        let words = try ErrorPage().words(inRow: "RVS_BTDriver: commandTimeout")
        #expect(words == [BLEError.Code.commandTimedOut.rawValue])
    }
}
