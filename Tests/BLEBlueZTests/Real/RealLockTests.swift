import BLE
import BLEBlueZ
import BLEFeatures
import BLETestSupport
import SmartLock
import BlueZTestSupport
import Testing

/// The worked example (Docs/Examples/SmartLock) on the real bluetoothd, with a lock that was written from the protocol
/// alone. Runs inside `Scripts/with-bluez` only.
@Suite(.enabled(if: Guest.isHere), .serialized, .inGuest, .hangLimit)
struct RealLockTests {
    private static let serial = "010203040506"
    private let peer = RealPeer()
    private let storage = MemoryDeviceStorage()

    /// The lock, switched on and in factory state, and its user.
    private func withLock(
        mode: MessageCipher.Mode, packetLength: Int = 247, _ check: (Devices) async throws -> Void
    ) async throws {
        try await peer.reset()
        try await peer.tell("lock mode \(mode)")
        try await peer.tell("lock mtu \(packetLength)")
        try await peer.tell("lock on")
        let central = try await Central()
        let devices = Devices(central, configuration: try .smartLock(mode: mode), storage: storage)
        do {
            try await check(devices)
        } catch {
            try await peer.tell("lock off")
            await central.shutDown()
            throw error
        }
        // The lock ends its link at once, and bluetoothd takes 2 s.
        try await peer.tell("lock off")
        await central.shutDown()
    }

    @Test(arguments: [MessageCipher.Mode.bound, .firmware])
    func `a lock of other make takes every command`(_ mode: MessageCipher.Mode) async throws {
        try await withLock(mode: mode) { devices in
            let device = try await devices.connect(serial: Self.serial)
            #expect(device.name == "Bumble Lock")
            try await change(device.feature() as LockSettings)
            try await join(device.feature() as LockNetwork)
            try await open(device.feature() as LockAccess)
            try await device.feature(LockSettings.self).reset()
            #expect(try await device.feature(LockSettings.self).name() == "Bumble Lock")
            #expect(try await peer.ask("lock counts").hasSuffix("malformed 0 refused 0"))
        }
    }

    private func change(_ settings: LockSettings) async throws {
        try await settings.setName(String(repeating: "é", count: 21))
        #expect(try await settings.name() == String(repeating: "é", count: 20))
        try await settings.setAutoLock(seconds: 30)
        #expect(try await settings.autoLock() == 30)
        try await settings.setAutoLock(seconds: nil)
        #expect(try await settings.autoLock() == nil)
        try await settings.setUserID("ann")
        #expect(try await peer.ask("lock user") == "616e6e")
    }

    private func join(_ network: LockNetwork) async throws {
        var updates = await network.updates().makeAsyncIterator()
        #expect(try await network.startListening() == ["Home", "Office", "Café"])
        try await peer.tell("lock ssid Under the roof")
        #expect(try await updates.next() == "Under the roof")
        try await network.stopListening()
        await #expect(throws: LockError.unknownNetwork("Elsewhere")) {
            try await network.join("Elsewhere", password: "secret")
        }
        try await network.join("Under the roof", password: "secret")
        #expect(try await peer.ask("lock network") == "Under the roof")
    }

    private func open(_ access: LockAccess) async throws {
        #expect(access.lastKnownState == .locked)
        try await access.pair()
        try await access.setState(.unlocked)
        #expect(try await peer.ask("lock state") == "unlocked")
        #expect(try await access.state() == .unlocked)
        try await access.setState(.locked)
        try await access.setPassword("sesame")
        await #expect(throws: LockError.wrongPassword) { try await access.unlockAsGuest(password: "please") }
        #expect(try await peer.ask("lock state") == "locked")
        try await access.unlockAsGuest(password: "sesame")
        #expect(try await peer.ask("lock state") == "unlocked")
    }

    /// How many pairings and resumptions a lock of each mode sees.
    static let sessions: [(MessageCipher.Mode, String)] = [
        (.bound, "paired 1 resumed 1 known 1"), (.firmware, "paired 1 resumed 0 known 1"),
    ]

    @Test(arguments: sessions)
    func `a link that drops in the middle of a command ends it, and the next one resumes the pairing`(
        _ mode: MessageCipher.Mode, _ sessions: String
    ) async throws {
        try await withLock(mode: mode) { devices in
            let device = try await devices.connect(serial: Self.serial)
            let access: LockAccess = try device.feature()
            try await access.pair()
            try await access.setState(.unlocked)
            try await peer.tell("lock mute 1")
            let before = try await peer.ask("lock counts")
            let caller = Task { try await access.setState(.locked) }
            while try await peer.ask("lock counts") == before { try Task.checkCancellation() }
            try await peer.tell("lock drop")
            await expectError(.disconnected) { try await caller.value }
            let again = try await devices.connect(serial: Self.serial)
            #expect(again !== device)
            #expect(try again.feature(LockAccess.self).lastKnownState == .locked)
            try await again.feature(LockAccess.self).setState(.unlocked)
            #expect(try await peer.ask("lock state") == "unlocked")
            #expect(try await peer.ask("lock sessions") == sessions)
            try await again.disconnect()
            try await peer.until("lock connections") { $0 == 0 }
        }
    }

    @Test func `long messages go in parts, both ways`() async throws {
        try await withLock(mode: .bound, packetLength: 23) { devices in
            let device = try await devices.connect(serial: Self.serial)
            #expect(try await device.peripheral.attMTU() == 23)
            let settings: LockSettings = try device.feature()
            try await settings.setName("Twenty characters 20 and more")
            #expect(try await settings.name() == "Twenty characters 20")
            let access: LockAccess = try device.feature()
            try await access.pair()
            try await access.setPassword(String(repeating: "p", count: Message.maximumEncryptedPayload))
            try await access.unlockAsGuest(password: String(repeating: "p", count: Message.maximumEncryptedPayload))
            #expect(try await peer.ask("lock state") == "unlocked")
        }
    }

    @Test func `a lock that has lost its keys says so`() async throws {
        try await withLock(mode: .bound) { devices in
            let device = try await devices.connect(serial: Self.serial)
            try await device.feature(LockAccess.self).pair()
            try await device.feature(LockSettings.self).reset()
            try await device.disconnect()
            let again = try await devices.connect(serial: Self.serial)
            let error = await expectError(.encryptionFailed) {
                try await again.feature(LockAccess.self).setState(.unlocked)
            }
            #expect(error?.cause as? MessageError == .keyUnknownToDevice)
        }
    }
}
