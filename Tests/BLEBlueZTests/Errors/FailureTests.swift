import BLE
import BLEBlueZ
import BLEProfiles
import BLESimulation
import BLETestSupport
import BLEBackendTesting
import BLEFakeBlueZ
import BlueZTestSupport
import DBus
import Testing

/// An operation that hangs because bluetoothd does not answer, and everything that can end the wait.
@Suite(.startsProcesses, .hangLimit)
struct FailureTests {
    enum Operation: String, CaseIterable, Sendable {
        case scan, connect, discover, read, write, readDescriptor, writeDescriptor, subscribe

        /// The method that does not answer.
        var method: String {
            switch self {
            case .scan: "StartDiscovery"
            case .connect: "Connect"
            case .discover: "ServicesResolved"
            case .read, .readDescriptor: "ReadValue"
            case .write, .writeDescriptor: "WriteValue"
            case .subscribe: "StartNotify"
            }
        }

        /// Whether it needs a link first.
        var isOnLink: Bool { ![.scan, .connect, .discover].contains(self) }

        func run(_ strap: Peripheral) async throws {
            switch self {
            case .scan: for try await _ in strap.central.discoveries() { return }
            case .connect, .discover: try await strap.connect()
            case .read: _ = try await strap.read(EchoStrap.output)
            case .write: try await strap.write([1], to: EchoStrap.input)
            case .readDescriptor:
                _ = try await strap.readDescriptor(BluetoothUUID(0x2901), of: EchoStrap.output.key)
            case .writeDescriptor:
                try await strap.writeDescriptor([1], to: BluetoothUUID(0x2901), of: EchoStrap.output.key)
            case .subscribe: _ = try await strap.notifications(EchoStrap.output)
            }
        }
    }

    /// The event that ends the wait, and the resulting error.
    enum End: CaseIterable, Sendable {
        case cancellation, deadline, linkLoss, deathOfBluetooth, deathOfBus

        var code: BLEError.Code {
            switch self {
            case .cancellation: .cancelled
            case .deadline: .timedOut
            case .linkLoss: .disconnected
            case .deathOfBluetooth, .deathOfBus: .bluetoothLost
            }
        }
    }

    @Test func `a peripheral that does not answer within the protocol's limit has timed out, whatever bluetoothd says`()
        async throws
    {
        let peer = try await FakePeer()
        let clock = ManualClock()
        let central = try await peer.makeCentral(
            Central.Configuration(operationTimeout: .seconds(600), clock: clock))
        let strap = try await central.find()
        try await strap.connect()
        let unlikely = DBusError.bluez("Failed", "Operation failed with ATT error: 0x0e")
        // An early failure may mean that a pairing begins, and the read is repeated.
        for (elapsed, reads, code) in [
            (Duration.seconds(30), 1, BLEError.Code.timedOut), (.seconds(3), 2, .attributeError),
        ] {
            await peer.daemon.hang("ReadValue")
            let reading = Task { try await strap.read(.batteryLevel) }
            await peer.daemon.untilHung()
            clock.advance(by: elapsed)
            for _ in 1...reads { await peer.daemon.fail("ReadValue", unlikely) }
            await peer.daemon.release()
            await expectError(code) { try await reading.value }
        }
        await central.shutDown()
    }

    @Test(arguments: [0, 22]) func `a packet length that no link has is an error`(_ length: Int) async throws {
        let peer = try await FakePeer()
        await peer.daemon.tellPacketLength(length)
        let central = try await peer.makeCentral(.quiet())
        let strap = try await central.find()
        await expectError(.failed) { _ = try await strap.attMTU() }
        await expectError(.failed) { _ = try await strap.packetWriter(to: EchoStrap.input) }
        await central.shutDown()
    }

    @Test func `the remedy for a paired central is not another pairing`() async throws {
        let peer = try await FakePeer()
        let central = try await peer.makeCentral(.quiet())
        let strap = try await central.find()
        try await strap.connect()
        for isPaired in [false, true] {
            if isPaired { try await strap.pair() }
            await peer.daemon.fail("ReadValue", .bluez("NotPermitted", "Not paired"))
            let error = await expectError(.pairingRequired) { _ = try await strap.read(.batteryLevel) }
            #expect(error?.remedy?.hasPrefix("Unpair") == isPaired)
        }
        await central.shutDown()
    }

    @Test func `what bluetoothd keeps to itself is not said to be absent`() async throws {
        let peer = try await FakePeer()
        let central = try await peer.makeCentral(.quiet())
        let strap = try await central.find()
        for uuid in [0x2A00, 0x2A05] as [UInt32] {
            let error = await expectError(.characteristicNotFound) {
                _ = try await strap.read(Characteristic<[UInt8]>(BluetoothUUID(uuid)))
            }
            #expect(error?.message.contains("is hidden") == true)
        }
        await central.shutDown()
    }

    @Test(arguments: Operation.allCases, End.allCases)
    func `every wait ends with its own error`(_ operation: Operation, _ end: End) async throws {
        // There is no link yet that a scan or a connect could lose.
        if end == .linkLoss, operation == .scan || operation == .connect { return }
        // A scan recovers by itself; see RecoveryTests.
        if operation == .scan, end == .deathOfBluetooth || end == .deathOfBus { return }
        let peer = try await FakePeer()
        // For a deadline, the test moves the time; otherwise time passes, because the backend repeats some steps after
        // a while.
        let clock = ManualClock()
        let central = try await peer.makeCentral(
            end == .deadline ? .quiet(clock: clock) : .quiet())
        let strap = try await central.find()
        if operation.isOnLink { try await strap.connect() }
        switch operation {
        // The daemon tries to connect, and the peripheral does not answer.
        case .connect: await peer.setAdvertising(false)
        case .discover: await peer.daemon.withholdServices()
        case .scan:
            // The scan that found the strap is over when the daemon says so.
            await until { await !peer.daemon.isDiscovering }
            await peer.daemon.hang(operation.method)
        default: await peer.daemon.hang(operation.method)
        }

        let task = Task {
            do {
                try await operation.run(strap)
                return BLEError.Code?.none
            } catch {
                return (error as? BLEError)?.code
            }
        }
        if operation == .connect {
            await until { await peer.daemon.calls["Connect"] != nil }
        } else {
            await peer.daemon.untilHung()
        }
        switch end {
        case .cancellation: task.cancel()
        case .deadline:
            let limits = central.configuration
            let limit = [.connect, .discover].contains(operation) ? limits.connectTimeout : limits.operationTimeout
            await clock.sleepers(1, for: limit)
            clock.advance(by: limit)
        case .linkLoss: await peer.loseLink()
        case .deathOfBluetooth: await peer.daemon.kill()
        case .deathOfBus: peer.bus.stop()
        }
        #expect(await task.value == end.code)
        await peer.daemon.release()
        // Afterwards, the earlier state is restored.
        if operation == .connect {
            // The peripheral may answer only after the attempt has been cancelled.
            await until { await strap.connectionState == .disconnected }
            await peer.setAdvertising(true)
        }
        if end == .cancellation || end == .deadline {
            if end == .deadline { await central.shutDown() }
            let other = end == .deadline ? try await peer.makeCentral(.quiet()) : central
            // A peripheral with a link does not advertise.
            let again = end == .deadline ? try await other.find() : strap
            #expect(try await again.read(.batteryLevel) == 87)
            let values = try await again.notifications(EchoStrap.output)
            await peer.notify([7])
            for try await value in values {
                #expect(value == [7])
                break
            }
            await other.shutDown()
        }
        await central.shutDown()
        // A link outlives the bus, but not its bluetoothd.
        if end != .deathOfBus { #expect(await peer.isConnected == false) }
    }
}
