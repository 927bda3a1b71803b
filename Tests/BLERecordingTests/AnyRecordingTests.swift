import BLE
import BLERecording
import BLESimulation
import BLETestSupport
import Testing

/// Recordings that no program has made: entries of any kind in any order, with what other kinds have.
@Suite(.hangLimit) struct AnyRecordingTests {
    private static let ids: [DeviceID] = ["F0:00:00:00:00:01", "F0:00:00:00:00:02"]

    private static let errors = [
        BLEError(.timedOut, "no answer"), BLEError(.notSupported, "no"), BLEError(.disconnectionFailed, "no"),
        BLEError(.channelRefused, "no"), BLEError(ATTError(rawValue: 0x81)),
        BLEError(.disconnected, "the link ended", disconnectReason: .timeout),
    ]

    private static let databases = [
        BTSnoopRoundTripTests.database, GATTDatabase(services: []),
        GATTDatabase(services: Array(BTSnoopRoundTripTests.database.services.prefix(1))),
    ]

    private func entry(_ generator: inout SeededGenerator) -> RecordedEntry {
        // Each property is there in one of two entries.
        func some<Value>(_ values: [Value]) -> Value? {
            Bool.random(using: &generator) ? values.randomElement(using: &generator) : nil
        }
        let kinds = RecordedEntry.What.allCases
        // Half of them are replies and what comes before a reply.
        let frequent: [RecordedEntry.What] = [
            .connect, .discover, .read, .write, .subscribeSocket, .openChannel, .reply,
        ]
        let what = some(frequent) ?? kinds.randomElement(using: &generator) ?? .reply
        var entry = RecordedEntry(
            what, at: .milliseconds(Int.random(in: 0...5000, using: &generator)), call: some([1, 2, 3, 4, 5]),
            peripheral: some(Self.ids), handle: some([1, 11, 13, 24, 29, 0xFFFF]), value: some([[], [1, 2, 3]]),
            offset: some([-1, 1, 600, 70_000]), number: some([-1, 0, 0x80, 23, 517, 70_000]),
            text: some(["poweredOn", "resetting", "unavailable", "Anna", "1.0.0"]), error: some(Self.errors))
        entry.services = some(Self.databases)
        entry.isOn = some([true, false])
        entry.advertisement = some([Advertisement(localName: "Anna", rssi: -40), Advertisement()])
        entry.backend = some([0, 1, 2])
        entry.filter = some([DiscoveryFilter()])
        entry.channel = some([ChannelOptions(), ChannelOptions(security: .authenticated, maximumReceiveLength: 23)])
        return entry
    }

    @Test(arguments: 0..<10) func `any recording can be replayed, compared, redacted and exported`(seed: Int)
        async throws
    {
        var generator = SeededGenerator(seed: UInt64(seed))
        var earlier = Recording(Recording.Header(stack: "Test"))
        for _ in 0..<30 {
            var recording = Recording(Recording.Header(stack: "Test"))
            for _ in 0..<80 { recording.entries.append(entry(&generator)) }
            #expect(try Recording(lines: recording.lines).lines == recording.lines)
            #expect(recording.differences(from: recording).isEmpty)
            _ = recording.differences(from: earlier)
            _ = try Recording(lines: recording.redacted().lines)
            let gaps = recording.entries.count { $0.what == .gap }
            #expect(recording.backends.map(\.entries.count).reduce(gaps, +) == recording.entries.count)
            let imported = try Recording(btsnoop: recording.btsnoop())
            _ = try Recording(lines: imported.lines)
            earlier = recording
            // A central does not start where bluetoothd is stopped from the beginning.
            guard let world = try? await RecordedWorld(replaying: recording) else { continue }
            let strap = world.central.peripheral(Self.ids[0])
            try await world.during(.seconds(600)) {
                _ = try? await strap.services()
                _ = try? await strap.read(Characteristic<[UInt8]>(BluetoothUUID(0xFF01)))
                _ = try? await strap.notifications(Characteristic<[UInt8]>(BluetoothUUID(0x2A19)))
                _ = try? await strap.openChannel(PSM(rawValue: 0x80))
            }
            await world.central.shutDown()
        }
    }
}
