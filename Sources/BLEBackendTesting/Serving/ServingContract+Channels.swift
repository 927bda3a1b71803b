import BLE
import Testing

extension ServingContract {
    private func echo(_ channel: L2CAPChannel, _ packet: [UInt8]) async throws {
        try await channel.send(packet)
        var packets = channel.packets.makeAsyncIterator()
        let returned = try await packets.next()
        #expect(returned == packet)
    }

    func publishedChannels() async throws {
        try await withHost { host in
            let listener = try await host.publishChannel(maximumReceiveLength: 600)
            #expect(PSM.dynamic ~= listener.psm)
            let other = try await host.publishChannel()
            #expect(other.psm != listener.psm)
            let after3 = await error { _ = try await host.publishChannel(listener.psm) }
            #expect(after3?.code == .busy)
            let after4 = await error { _ = try await host.publishChannel(0x0100) }
            #expect(after4?.code == .invalidArgument)
            other.close()

            let published = try CharacteristicDefinition(.publishedPSM, [.read], value: listener.psm)
            try await host.withServed(Self.definition(published)) { _ in
                try await withCentral { central in
                    let remote = try await find(central)
                    let psm = try await remote.read(.publishedPSM)
                    #expect(psm == listener.psm)
                    let theirs = try await remote.openChannel(psm, maximumReceiveLength: 700)
                    var channels = listener.makeAsyncIterator()
                    let ours = try #require(try await channels.next())
                    #expect(ours.psm == psm)
                    #expect(ours.maximumLength == 700)
                    #expect(ours.maximumReceiveLength == 600)
                    #expect(theirs.maximumLength == 600)
                    #expect(await host.connectedCentrals.contains(ours.peer))

                    var received = ours.packets.makeAsyncIterator()
                    var returned = theirs.packets.makeAsyncIterator()
                    for length in [1, 23, 244, 600] {
                        let packet = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
                        try await theirs.send(packet)
                        let arrived = try await received.next()
                        #expect(arrived == packet)
                        try await ours.send(packet + [0])
                        let answer = try await returned.next()
                        #expect(answer == packet + [0])
                    }
                    for number in UInt8(0)..<50 { try await ours.send([number]) }
                    for number in UInt8(0)..<50 {
                        let packet = try await returned.next()
                        #expect(packet == [number])
                    }
                    // One channel is closed by the central, the other by the host.
                    theirs.close()
                    let end = try await received.next()
                    #expect(end == nil)
                    let after5 = await error { try await ours.send([1]) }
                    #expect(after5?.code == .disconnected)
                    let again = try await remote.openChannel(psm)
                    let accepted = try #require(try await channels.next())
                    accepted.close()
                    for try await _ in again.packets {}

                    // Open channels outlast the end of the listener.
                    let last = try await remote.openChannel(psm)
                    let open = try #require(try await channels.next())
                    listener.close()
                    let none = try await channels.next()
                    #expect(none == nil)
                    try await eventually {
                        do throws(BLEError) {
                            try await remote.openChannel(psm).close()
                            return false
                        } catch {
                            return error.code == .channelRefused
                        }
                    }
                    try await open.send([9])
                    for try await packet in last.packets {
                        #expect(packet == [9])
                        break
                    }
                    // Both ends of a channel end with the link.
                    try await remote.disconnect()
                    var left = open.packets.makeAsyncIterator()
                    let after6 = await error { while try await left.next() != nil {} }
                    #expect(after6?.code == .disconnected)
                }
            }
        }
    }

    func definedChannels() async throws {
        let psm: PSM = 0x0085
        var definition = Self.definition(Self.readable)
        definition.channels = [
            ChannelDefinition(psm) { channel in
                for try await packet in channel.packets { try await channel.send(packet) }
            }
        ]
        try await withHost { host in
            var events = await host.events().makeAsyncIterator()
            try await host.withServed(definition) { _ in
                try await withCentral { central in
                    try await echo(try await find(central).openChannel(psm), [1, 2, 3])
                }
                // The listener outlasts a restart of the stack.
                try await peer.restartStack()
                try await until(&events) { if case .servicesRestored = $0 { true } else { false } }
                try await until(&events) { if case .advertisingStarted = $0 { true } else { false } }
                try await withCentral { central in
                    try await echo(try await find(central).openChannel(psm), [4])
                }
            }
            // The number is free again.
            let listener = try await host.publishChannel(psm)
            #expect(listener.psm == psm)
        }
    }

    func limitedChannels() async throws {
        let psm: PSM = 0x0087
        var definition = Self.definition(Self.readable)
        definition.channels = [
            ChannelDefinition(psm, limits: ChannelLimits(total: 4, perCentral: 2)) { channel in
                for try await packet in channel.packets { try await channel.send(packet) }
            }
        ]
        try await withServed(definition) { host, _, remote in
            var events = await host.events().makeAsyncIterator()
            let first = try await remote.openChannel(psm)
            let second = try await remote.openChannel(psm)
            try await echo(first, [1])
            try await echo(second, [2])
            for _ in 0..<2 {
                // The channel is closed as soon as it is opened, or refused.
                do throws(BLEError) {
                    for try await _ in try await remote.openChannel(psm).packets {}
                } catch {
                    #expect([.channelRefused, .disconnected].contains(error.code), "\(error)")
                }
            }
            try await until(&events) { event in
                guard case .failed(let error) = event else { return false }
                #expect(error.code == .overflow)
                return true
            }
            try await echo(first, [3])
            second.close()
            // When a channel's handler has returned, there is room again.
            try await eventually {
                let third = try await remote.openChannel(psm)
                try await third.send([4])
                var packets = third.packets.makeAsyncIterator()
                return try await packets.next() == [4]
            }
        }
    }

    func shutDownEndsChannels() async throws {
        let host = try await peer.makeHost(PeripheralHost.Configuration())
        let listener = try await host.publishChannel()
        try await withCentral { central in
            let published = try CharacteristicDefinition(.publishedPSM, [.read], value: listener.psm)
            let serving = Task { try await host.serve(Self.definition(published)) }
            let remote = try await find(central)
            let theirs = try await remote.openChannel(listener.psm)
            var channels = listener.makeAsyncIterator()
            let ours = try #require(try await channels.next())
            await host.shutDown()
            let after7 = await error { for try await _ in ours.packets {} }
            #expect(after7?.code == .shutDown)
            let after8 = await error { _ = try await channels.next() }
            #expect(after8?.code == .shutDown)
            let after9 = await error { _ = try await host.publishChannel() }
            #expect(after9?.code == .shutDown)
            let after10 = await error { try await serving.value }
            #expect(after10?.code == .shutDown)
            do { for try await _ in theirs.packets {} } catch { #expect((error as? BLEError)?.code == .disconnected) }
        }
    }
}
