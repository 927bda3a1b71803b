import BLE
public import Testing

/// The rules for programs that share one bluetoothd: a program that stops does not affect the others. One check per
/// case, for peers whose centrals share the stack.
public enum SharedLinkContract: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case whoComesLaterLeavesTheLink
    case whoMadeTheLinkLeavesItToSubscribers
    case whoMadeTheLinkLeavesItToReadersOfSockets
    case idleLinksAreLeftToSubscribers
    case scopesLeaveTheLinkToSubscribers
    case whatNobodyElseUsesEnds
    case leftoversOfEarlierLinksAreNobodyElses
    case whoMadeTheLinkLeavesItToWriters
    case whoIsRefusedLeavesTheSocketToWhoHasIt

    public var testDescription: String { rawValue }

    public func check(_ peer: some ContractPeer) async throws {
        try await peer.reset()
        let contract = Contract(peer: peer)
        switch self {
        case .whoComesLaterLeavesTheLink: try await contract.laterComer()
        case .whoMadeTheLinkLeavesItToSubscribers:
            try await contract.leaving(delivery: .standard) { try await $0.disconnect() }
        case .whoMadeTheLinkLeavesItToReadersOfSockets:
            try await contract.leaving(delivery: .socket) { try await $0.disconnect() }
        case .idleLinksAreLeftToSubscribers:
            try await contract.leaving(delivery: .standard) {
                try await $0.setConnectionPolicy(.onDemand(idle: .milliseconds(100)))
            }
        case .scopesLeaveTheLinkToSubscribers: try await contract.leavingScope()
        case .whatNobodyElseUsesEnds: try await contract.endingOwn()
        case .leftoversOfEarlierLinksAreNobodyElses: try await contract.leftovers()
        case .whoMadeTheLinkLeavesItToWriters: try await contract.leavingWriter()
        case .whoIsRefusedLeavesTheSocketToWhoHasIt: try await contract.refusal()
        }
    }
}

extension Contract {
    fileprivate func laterComer() async throws {
        try await withStrap { strap in
            let values = try await strap.notifications(EchoStrap.output)
            try await withCentral(sharesLinks: true) { later in
                let same = later.peripheral(EchoStrap.id)
                _ = try await same.notifications(EchoStrap.controlPoint)
                try await same.disconnect()
                #expect(await same.connectionState == .disconnected)
                #expect(await strap.connectionState == .connected)
                // The link can be used again, and stays up again at the shutdown.
                #expect(try await same.read(EchoStrap.twin).isEmpty == false)
            }
            try await stillHears(values)
            #expect(await strap.connectionState == .connected)
        }
    }

    /// Checks that a stream still receives a value that is sent now.
    private func stillHears(_ values: some AsyncSequence<[UInt8], BLEError>) async throws {
        try await peer.until(connections: 1)
        try await peer.notify([77])
        for try await value in values where value == [77] { return }
        Issue.record("the stream has ended")
    }

    fileprivate func leaving(
        delivery: NotificationDelivery, _ leave: (Peripheral) async throws -> Void
    ) async throws {
        try await withStrap { strap in
            try await withCentral(sharesLinks: true) { later in
                let same = later.peripheral(EchoStrap.id)
                let values = try await same.notifications(EchoStrap.output, delivery: delivery)
                try await leave(strap)
                try await until(.disconnected, strap)
                try await stillHears(values)
                #expect(await same.connectionState == .connected)
                #expect(try await same.read(EchoStrap.twin).isEmpty == false)
                try await peer.disconnect()
            }
        }
    }

    fileprivate func leavingScope() async throws {
        try await withCentral { central in
            let strap = try await find(central).peripheral
            try await withCentral(sharesLinks: true) { later in
                let same = later.peripheral(EchoStrap.id)
                let values = try await strap.withConnection { strap in
                    _ = try await strap.read(EchoStrap.twin)
                    return try await same.notifications(EchoStrap.output)
                }
                #expect(await strap.connectionState == .disconnected)
                try await stillHears(values)
                try await peer.disconnect()
            }
        }
    }

    fileprivate func leavingWriter() async throws {
        try await withStrap { strap in
            try await withCentral(sharesLinks: true) { later in
                let writer = try await later.peripheral(EchoStrap.id).packetWriter(to: EchoStrap.input)
                let refused = await error { _ = try await strap.packetWriter(to: EchoStrap.input) }
                #expect(refused?.code == .busy)
                try await strap.disconnect()
                try await peer.until(connections: 1)
                try await writer.write([1, 2])
                try await peer.disconnect()
            }
        }
    }

    fileprivate func refusal() async throws {
        try await withStrap { strap in
            try await withCentral(sharesLinks: true) { later in
                let values = try await later.peripheral(EchoStrap.id).notifications(
                    EchoStrap.output, delivery: .socket)
                try await peer.until(subscribers: 1)
                let refused = await error { _ = try await strap.notifications(EchoStrap.output) }
                #expect(refused?.code == .busy)
                try await peer.notify([5])
                // There is no gap before the value. A gap would mean that the socket was closed.
                var events = values.events.makeAsyncIterator()
                guard case .value([5]) = try await events.next() else {
                    Issue.record("the value was expected")
                    return
                }
            }
        }
    }

    fileprivate func endingOwn() async throws {
        try await withStrap { strap in
            let values = try await strap.notifications(EchoStrap.output, delivery: .socket)
            let answers = try await strap.notifications(EchoStrap.controlPoint)
            // Sockets that were closed, or acquired again immediately, do not count as sockets of another client.
            for number in 0..<8 {
                let writer = try await strap.packetWriter(to: EchoStrap.input)
                try await writer.write([UInt8(number)])
            }
            let writer = try await strap.packetWriter(to: EchoStrap.input)
            try await strap.disconnect()
            try await peer.until(connections: 0)
            _ = (values, answers, writer)
        }
    }

    fileprivate func leftovers() async throws {
        try await withStrap { strap in
            // The subscription was made on a link that has ended; bluetoothd keeps such a subscription, and renews it.
            do {
                let values = try await strap.notifications(EchoStrap.output)
                try await peer.disconnect()
                try await until(.disconnected, strap)
                _ = values
            }
            try await strap.connect()
            _ = try await strap.read(EchoStrap.twin)
            try await strap.disconnect()
            try await peer.until(connections: 0)
        }
    }
}
