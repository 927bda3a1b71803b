import BLE
import BLESimulation
import BLETestSupport
import Testing

/// The host's side of L2CAP channels. The contract covers the common behavior of all stacks.
@Suite(.hangLimit) struct ChannelListenerTests {
    private let radio = SimulatedRadio()
    private static let service = BluetoothUUID(0xFFE0)
    private let definition = PeripheralDefinition(
        advertisement: Advertisement(serviceUUIDs: [service]),
        services: [ServiceDefinition(service, characteristics: [])])

    /// A host that advertises, and a central's handle for it.
    private func withHost(
        _ definition: PeripheralDefinition, _ configuration: PeripheralHost.Configuration = .quiet(),
        _ body: (PeripheralHost, Peripheral) async throws -> Void
    ) async throws {
        let host = try await PeripheralHost(backend: .simulated(radio), configuration: configuration)
        let central = try await Central(backend: .simulated(radio), configuration: .quiet())
        try await host.withServed(definition) { _ in
            let remote = try await central.first(matching: .service(Self.service)).peripheral
            try await body(host, remote)
        }
        await central.shutDown()
        await host.shutDown()
    }

    @Test func `channels that are not taken are closed, once enough wait`() async throws {
        try await withHost(definition) { host, remote in
            let listener = try await host.publishChannel(limits: ChannelLimits(perCentral: 20))
            var opened: [L2CAPChannel] = []
            for _ in 0..<20 { opened.append(try await remote.openChannel(listener.psm)) }
            await until { opened.count { $0.isClosed } == 4 }
            #expect(opened.prefix(16).allSatisfy { !$0.isClosed })
            var channels = listener.makeAsyncIterator()
            let first = try await channels.next()
            #expect(first?.isClosed == false)
            // The end of the listener closes those that wait, and leaves the one that was taken.
            listener.close()
            await until { opened.count { $0.isClosed } == 19 }
            #expect(first?.isClosed == false)
        }
    }

    @Test func `a listener that is released accepts no more`() async throws {
        try await withHost(definition) { host, remote in
            var listener: ChannelListener? = try await host.publishChannel(0x0090)
            try await remote.openChannel(0x0090).close()
            _ = listener
            listener = nil
            await until {
                do throws(BLEError) {
                    try await remote.openChannel(0x0090).close()
                    return false
                } catch {
                    return error.code == .channelRefused
                }
            }
            _ = try await host.publishChannel(0x0090)
        }
    }

    @Test func `the end of a listener does not concern another one at its number`() async throws {
        try await withHost(definition) { host, remote in
            var first: ChannelListener? = try await host.publishChannel(0x0094)
            first?.close()
            var second: ChannelListener?
            await until {
                second = try? await host.publishChannel(0x0094)
                return second != nil
            }
            first?.close()
            _ = first
            first = nil
            for _ in 0..<50 { await Task.yield() }
            let theirs = try await remote.openChannel(0x0094)
            var channels = try #require(second).makeAsyncIterator()
            let ours = try #require(try await channels.next())
            try await ours.send([1])
            for try await packet in theirs.packets {
                #expect(packet == [1])
                break
            }
        }
    }

    @Test func `the loss of the link is not a regular end, on either side`() async throws {
        try await withHost(definition) { host, remote in
            let listener = try await host.publishChannel()
            let theirs = try await remote.openChannel(listener.psm)
            var channels = listener.makeAsyncIterator()
            let ours = try #require(try await channels.next())
            await radio.setPowered(false)
            await expectError(.disconnected) { for try await _ in theirs.packets {} }
            do throws(BLEError) {
                for try await _ in ours.packets {}
                Issue.record("a regular end")
            } catch {
                #expect([.disconnected, .poweredOff].contains(error.code))
            }
            await radio.setPowered(true)
        }
    }

    @Test func `readers take channels one at a time`() async throws {
        try await withHost(definition) { host, remote in
            let listener = try await host.publishChannel()
            var opened: [L2CAPChannel] = []
            for _ in 0..<3 { opened.append(try await remote.openChannel(listener.psm)) }
            for channel in opened {
                var channels = listener.makeAsyncIterator()
                let taken = try #require(try await channels.next())
                try await taken.send([7])
                for try await packet in channel.packets {
                    #expect(packet == [7])
                    break
                }
            }
        }
    }

    @Test func `the listener of a host that is released ends`() async throws {
        var host: PeripheralHost? = try await PeripheralHost(backend: .simulated(radio))
        let listener = try #require(try await host?.publishChannel())
        host = nil
        await expectError(.shutDown) { for try await _ in listener {} }
    }

    @Test func `numbers and lengths that cannot be are found before serving`() async throws {
        var wrong = definition
        wrong.channels = [
            ChannelDefinition(0x0100) { _ in }, ChannelDefinition(0x0080) { _ in }, ChannelDefinition(0x0080) { _ in },
            ChannelDefinition(0x0081, options: ChannelOptions(maximumReceiveLength: 0)) { _ in },
        ]
        let messages = wrong.diagnostics().filter(\.isError).map(\.message)
        #expect(messages.count == 3)
        #expect(messages.contains { $0.contains("0x0100") })
        #expect(messages.contains { $0.contains("several channels") })
        #expect(messages.contains { $0.contains("not 0") })
        let host = try await PeripheralHost(backend: .simulated(radio))
        await expectError(.invalidArgument) { try await host.serve(wrong) }
        await host.shutDown()
    }

    @Test func `a handler that fails closes its channel and is reported, and the others go on`() async throws {
        var served = definition
        served.channels = [
            ChannelDefinition(0x0091) { channel in
                for try await packet in channel.packets {
                    guard packet != [0] else { throw ATTError.unlikelyError }
                    try await channel.send(packet)
                }
            }
        ]
        try await withHost(served) { host, remote in
            var events = await host.events().makeAsyncIterator()
            let good = try await remote.openChannel(0x0091)
            let bad = try await remote.openChannel(0x0091)
            try await bad.send([0])
            for try await _ in bad.packets {}
            while let event = try await events.next() {
                guard case .failed(let error) = event else { continue }
                #expect(error.code == .failed)
                #expect(error.message.contains("0x0091"))
                #expect(error.cause as? ATTError == .unlikelyError)
                break
            }
            try await good.send([1])
            for try await packet in good.packets {
                #expect(packet == [1])
                break
            }
        }
    }

    @Test func `a number that is in use ends serving with nothing left behind`() async throws {
        var served = definition
        served.channels = [0x0092, 0x0093].map { psm in ChannelDefinition(PSM(rawValue: psm)) { _ in } }
        let host = try await PeripheralHost(backend: .simulated(radio))
        let listener = try await host.publishChannel(0x0093)
        await expectError(.busy) { try await host.serve(served) }
        let other = try await host.publishChannel(0x0092)
        other.close()
        listener.close()
        await until { (try? await host.publishChannel(0x0093).close()) != nil }
        await host.shutDown()
    }

    @Test func `channels beyond a listener's limit are closed, which is reported once`() async throws {
        try await withHost(definition) { host, remote in
            var events = await host.events().makeAsyncIterator()
            let listener = try await host.publishChannel(limits: ChannelLimits(total: 2))
            let taken = SharedValue<[L2CAPChannel]>([])
            let taking = Task { for try await channel in listener { taken.change { $0.append(channel) } } }
            var theirs = [try await remote.openChannel(listener.psm), try await remote.openChannel(listener.psm)]
            await until { taken.value.count >= 2 }
            for _ in 0..<3 { for try await _ in try await remote.openChannel(listener.psm).packets {} }
            #expect(taken.value.count == 2)
            taken.value[0].close()
            // There is room as soon as the host knows.
            while taken.value.count == 2 {
                theirs.append(try await remote.openChannel(listener.psm))
                for _ in 0..<20 { await Task.yield() }
            }
            await host.shutDown()
            var failures = 0
            await expectError(.shutDown) {
                while let event = try await events.next() {
                    if case .failed(let error) = event, error.code == .overflow { failures += 1 }
                }
            }
            #expect(failures == 1)
            await expectError(.shutDown) { try await taking.value }
        }
    }

    @Test func `a handler that outlasts its channel is cancelled, and then counts no more`() async throws {
        let clock = ManualClock()
        let begun = SharedValue(0)
        var served = definition
        served.channels = [
            ChannelDefinition(0x0095, limits: ChannelLimits(total: 1, perCentral: 1)) { channel in
                begun.change { $0 += 1 }
                // Independently of the channel's outcome.
                try await clock.sleep(for: .seconds(3600))
            }
        ]
        var configuration = PeripheralHost.Configuration.quiet()
        configuration.clock = clock
        try await withHost(served, configuration) { _, remote in
            let first = try await remote.openChannel(0x0095)
            try await begun.until { $0 == 1 }
            first.close()
            await clock.sleepers(1, for: configuration.requestTimeout)
            clock.advance(by: configuration.requestTimeout)
            while begun.value == 1 {
                try await remote.openChannel(0x0095).close()
                for _ in 0..<20 { await Task.yield() }
            }
        }
    }

    @Test func `a handler that outlasts its channel is cancelled, even if no more channels are accepted`() async throws
    {
        let (clock, backend) = (ManualClock(), ServingBackend())
        let (begun, ended) = (SharedValue(false), SharedValue(false))
        var served = definition
        served.channels = [
            ChannelDefinition(0x0095) { channel in
                begun.change { $0 = true }
                defer { ended.change { $0 = true } }
                try await clock.sleep(for: .seconds(3600))
            }
        ]
        var configuration = PeripheralHost.Configuration.quiet()
        configuration.clock = clock
        let host = try await PeripheralHost(backend: backend, configuration: configuration)
        try await host.withServed(served) { _ in
            let channel = ScriptedChannel()
            await backend.open(channel, "C0:00:00:00:00:01")
            try await begun.until { $0 }
            await backend.stopListening()
            #expect(!channel.isClosed)
            channel.end()
            await clock.sleepers(1, for: configuration.requestTimeout)
            clock.advance(by: configuration.requestTimeout)
            try await ended.until { $0 }
        }
        await host.shutDown()
    }

    @Test func `a simulated peripheral keeps as many channels open as its definition says`() async throws {
        let radio = SimulatedRadio()
        _ = await radio.add(
            PeripheralDefinition(
                advertisement: Advertisement(localName: "Few"), services: [],
                channels: [
                    ChannelDefinition(0x0080, limits: ChannelLimits(total: 3, perCentral: 2)) { channel in
                        for try await packet in channel.packets { try await channel.send(packet) }
                    }
                ]))
        let central = try await Central(backend: .simulated(radio))
        let remote = try await central.first(matching: .name("Few")).peripheral
        let open = [try await remote.openChannel(0x0080), try await remote.openChannel(0x0080)]
        for try await _ in try await remote.openChannel(0x0080).packets {}
        for channel in open {
            try await channel.send([1])
            for try await packet in channel.packets {
                #expect(packet == [1])
                break
            }
        }
        await central.shutDown()
    }

    @Test func `channels are counted by central, and in total`() {
        let centrals = (1...4).map { Peripheral.ID(rawValue: "C0:00:00:00:00:0\($0)") }
        var counts = ChannelCounts(ChannelLimits(total: 5, perCentral: 2))
        #expect(
            [0, 0, 0, 0].map { counts.add(centrals[$0]) } == [
                .accepted, .accepted, .refused(isFirst: true), .refused(isFirst: false),
            ])
        #expect([1, 1, 2].map { counts.add(centrals[$0]) } == [.accepted, .accepted, .accepted])
        #expect(
            [3, 3, 2].map { counts.add(centrals[$0]) } == [
                .refused(isFirst: true), .refused(isFirst: false), .refused(isFirst: false),
            ])
        counts.remove(centrals[3])
        #expect(counts.add(centrals[3]) == .refused(isFirst: false))
        counts.remove(centrals[0])
        #expect(counts.add(centrals[3]) == .accepted)
        counts.remove(centrals[0])
        #expect(counts.add(centrals[0]) == .accepted)
        #expect(counts.add(centrals[0]) == .refused(isFirst: true))
    }
}
