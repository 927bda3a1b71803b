import BLE
import BLERecording
import BLESimulation
import BLETestSupport
import BLETesting
import Logging
import Synchronization
import Testing

/// Recordings of calls that overlapped, failed or were given up, made by hand.
@Suite(.hangLimit) struct ReplayedCallsTests {
    typealias Builder = BTSnoopRoundTripTests.Builder

    private static let id: DeviceID = "F0:00:00:00:00:01"
    private static let level = Characteristic<[UInt8]>(BluetoothUUID(0x2A19))
    private static let text = Characteristic<[UInt8]>(BluetoothUUID(0xFF01))

    /// A recording in which a link was made to the peripheral, and its services were found.
    private func linked(_ database: GATTDatabase = BTSnoopRoundTripTests.database) -> Builder {
        var builder = Builder()
        builder.event(.known)
        builder.call(.connect)
        builder.call(.discover, services: database)
        return builder
    }

    /// Replays a recording. Each of its calls takes a millisecond.
    private func replay(_ builder: Builder) async throws -> (RecordedWorld, Peripheral) {
        let world = try await RecordedWorld(replaying: builder.recording)
        return (world, world.central.peripheral(Self.id))
    }

    // MARK: Channels

    @Test func `a channel that was refused while another was opened is none`() async throws {
        var builder = linked()
        for call in 90...92 {
            builder.add(RecordedEntry(.openChannel, call: call, peripheral: Self.id, number: 0x80))
        }
        let refused = BLEError(.channelRefused, "refused")
        builder.add(RecordedEntry(.reply, call: 90, error: refused))
        builder.add(RecordedEntry(.reply, call: 92))
        builder.add(RecordedEntry(.packetReceived, call: 92, value: [7]))
        builder.add(RecordedEntry(.reply, call: 91, error: refused))
        builder.add(RecordedEntry(.packetReceived, call: 92, value: [8]))
        builder.add(RecordedEntry(.channelEnded, call: 92, peripheral: Self.id))
        let (world, strap) = try await replay(builder)
        let received = try await world.during(.seconds(1)) {
            let channel = try await strap.openChannel(PSM(rawValue: 0x80))
            return try await channel.packets.reduce(into: [[UInt8]]()) { $0.append($1) }
        }
        #expect(received == [[7], [8]])
        await world.central.shutDown()
    }

    @Test func `a channel is recorded with its options and its end, and takes packets of the same length again`()
        async throws
    {
        let (psm, recorder) = (PSM(rawValue: 0x80), Recorder())
        let world = try await RecordedWorld(recorder)
        var definition = PeripheralDefinition.battery()
        definition.channels = [
            ChannelDefinition(psm, maximumReceiveLength: 100) { channel in
                guard let packet = try await channel.receive(timeout: .seconds(1)) else { return }
                // Closes one of the channels.
                if packet == [2] { channel.close() } else { for try await _ in channel.packets {} }
            }
        ]
        let strap = try await world.find(await world.radio.add(definition).id)
        for number in [1, 2] as [UInt8] {
            try await world.during(.seconds(1)) {
                let channel = try await strap.openChannel(psm, maximumReceiveLength: 64)
                try await channel.send([number])
                if number == 1 { channel.close() } else { for try await _ in channel.packets {} }
            }
        }
        await world.central.shutDown()
        let recording = try Recording(lines: recorder.recording.lines)
        let opened = recording.entries.filter { $0.what == .openChannel }
        #expect(opened.map(\.channel) == Array(repeating: ChannelOptions(maximumReceiveLength: 64), count: 2))
        let replies = recording.entries.filter { entry in
            entry.what == .reply && opened.contains { $0.call == entry.call }
        }
        #expect(replies.map(\.number) == [100, 100])
        let ends = recording.entries.filter { $0.what == .channelEnded }
        #expect(ends.map(\.call) == opened.map(\.call))
        #expect(ends.map(\.error?.disconnectReason) == [.local, nil])
        let again = try await RecordedWorld(replaying: recording)
        let length = try await again.during(.seconds(1)) {
            try await again.find(strap.id).openChannel(psm).maximumLength
        }
        #expect(length == 100)
        await again.central.shutDown()
    }

    // MARK: Values

    @Test func `a read from an offset gives what it gave, whatever was read before`() async throws {
        var builder = linked()
        builder.call(.read, handle: 24, offset: 300, gives: [3, 4])
        // As far as a value can be.
        builder.call(.read, handle: 24, offset: 65_535, gives: [5])
        let recording = builder.recording
        let (world, strap) = try await replay(builder)
        let value = try await world.during(.seconds(1)) {
            try await strap.readBytes(of: Self.text.key, offset: 300)
        }
        #expect(value == [3, 4])
        #expect(recording.entries.contains { $0.offset == 65_535 })
        await world.central.shutDown()
    }

    @Test func `a write from an offset takes no outcome of a read`() async throws {
        var builder = linked()
        builder.call(.read, handle: 24, gives: [1, 2])
        builder.call(.write, handle: 24, value: [9], offset: 300)
        builder.call(.read, handle: 24, gives: [3])
        let (world, strap) = try await replay(builder)
        let values = try await world.during(.seconds(1)) {
            let first = try await strap.read(Self.text)
            try await strap.writeBytes([9], to: Self.text.key, offset: 300)
            return [first, try await strap.read(Self.text)]
        }
        #expect(values == [[1, 2], [3]])
        await world.central.shutDown()
    }

    @Test(arguments: [BLEError(ATTError(rawValue: 0x81)), BLEError(.notSupported, "no sockets")])
    func `a refused subscription with a socket fails again, unless it was made without one`(error: BLEError)
        async throws
    {
        var builder = linked()
        builder.call(.subscribeSocket, handle: 11, error: error)
        builder.call(.subscribe, handle: 11)
        builder.event(.value, handle: 11, value: [7])
        let (world, strap) = try await replay(builder)
        let outcomes = try await world.during(.seconds(1)) {
            var outcomes: [String] = []
            for _ in 0..<2 {
                do throws(BLEError) {
                    for try await value in try await strap.notifications(Self.level) {
                        outcomes.append("\(value)")
                        break
                    }
                } catch {
                    outcomes.append("\(error.attError?.rawValue ?? 0)")
                }
                if outcomes.last == "[7]" { break }
            }
            return outcomes
        }
        #expect(outcomes == (error.attError == nil ? ["[7]"] : ["129", "[7]"]))
        await world.central.shutDown()
    }

    @Test func `subscriptions that overlapped have their own outcomes`() async throws {
        var builder = linked()
        builder.add(RecordedEntry(.subscribe, call: 90, peripheral: Self.id, handle: 11))
        builder.add(RecordedEntry(.subscribe, call: 91, peripheral: Self.id, handle: 11))
        builder.add(RecordedEntry(.reply, call: 90, error: BLEError(ATTError(rawValue: 0x81))))
        builder.add(RecordedEntry(.reply, call: 91))
        let (world, strap) = try await replay(builder)
        try await world.during(.seconds(1)) {
            let error = await expectError(.attributeError) { try await strap.notifications(Self.level) }
            #expect(error?.attError?.rawValue == 0x81)
            _ = try await strap.notifications(Self.level)
        }
        await world.central.shutDown()
    }

    // MARK: Links

    @Test func `services that are said to have changed, and have not, stay until they do`() async throws {
        let other = GATTDatabase(services: Array(BTSnoopRoundTripTests.database.services.prefix(1)))
        var builder = linked()
        builder.event(.servicesChanged)
        builder.call(.discover, services: BTSnoopRoundTripTests.database)
        builder.linkEnded(.remote)
        builder.call(.connect)
        builder.call(.discover, services: other)
        let (world, strap) = try await replay(builder)
        let all = BTSnoopRoundTripTests.database.map(\.uuid)
        @Sendable func found() async throws -> [BluetoothUUID] { try await strap.services().map(\.uuid) }
        #expect(try await world.during(.milliseconds(2), found) == all)
        // The change comes 3 ms after the beginning of the link, and the link's end 6 ms.
        await world.clock.run(for: .milliseconds(2))
        #expect(try await world.during(.milliseconds(2), found) == all)
        #expect(await strap.connectionState == .connected)
        await world.clock.run(for: .milliseconds(5))
        #expect(try await world.during(.milliseconds(5), found) == other.map(\.uuid))
        await world.central.shutDown()
    }

    @Test func `a link that could not be ended goes on until its end`() async throws {
        var builder = linked()
        builder.call(.disconnect, error: BLEError(.disconnectionFailed, "it could not be ended"))
        builder.linkEnded(.remote)
        let (world, strap) = try await replay(builder)
        try await world.during(.seconds(1)) { try await strap.connect() }
        #expect(await strap.connectionState == .disconnected)
        await world.central.shutDown()
    }

    // MARK: End

    @Test func `the end of a recording is logged`() async throws {
        let logged = LoggedMessages()
        let clock = ManualClock()
        let radio = try await SimulatedRadio(
            replaying: linked().recording, clock: clock, logger: Logger(label: "test") { _ in logged })
        await clock.run(for: .milliseconds(4))
        #expect(logged.messages.isEmpty)
        await clock.run(for: .milliseconds(2))
        #expect(logged.messages.map { $0.contains("recording is over") } == [true])
        withExtendedLifetime(radio) {}
    }
}

/// Keeps messages of the level notice.
private struct LoggedMessages: LogHandler {
    private final class Kept: Sendable { let messages = Mutex<[String]>([]) }

    private let kept = Kept()
    var metadata = Logger.Metadata()
    var logLevel = Logger.Level.notice

    var messages: [String] { kept.messages.withLock { $0 } }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { kept.messages.withLock { $0.append("\(event.message)") } }
}
