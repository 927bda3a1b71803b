import BLE
import BLEDefinitions
import BLESimulation
import Foundation
import Testing

@testable import BLECommand

/// Devices that walk past gateways, on a broker in memory, in virtual time.
struct FleetWalkTests {
    /// The first claims are made in the first 6 s.
    @Test func `devices that walk past gateways have one owner each, without gaps`() {
        var walk = Walk(gateways: 8, devices: 40, seed: 1)
        walk.run(seconds: 6)
        let beginning = walk.gaps
        walk.run(seconds: 234)
        #expect(walk.duplicates == 0)
        #expect(walk.gaps - beginning <= 10)
        // Devices pass a gateway every 10 s or more slowly, with something for the noise.
        #expect(40..<640 ~= walk.handovers)
    }

    @Test func `a gateway that dies is replaced after five seconds`() {
        var walk = Walk(gateways: 8, devices: 40, seed: 2)
        walk.run(seconds: 60)
        for gateway in [2, 3, 5] {
            let (gaps, devices) = (walk.gaps, walk.devices(of: gateway))
            #expect(devices > 0)
            walk.kill(gateway)
            walk.run(seconds: 10)
            #expect(walk.gaps - gaps <= devices * 6 + 3)
            #expect(walk.gaps - gaps >= devices * 3)
        }
        #expect(walk.duplicates == 0)
    }

    @Test func `gateways that hear each other late agree`() {
        var walk = Walk(gateways: 6, devices: 30, seed: 3, latency: 2)
        walk.run(seconds: 180)
        // While a claim is on its way, its two gateways may know of it in different seconds.
        #expect(walk.duplicates <= walk.handovers * 2)
        walk.stop()
        walk.run(seconds: 60)
        let (duplicates, gaps) = (walk.duplicates, walk.gaps)
        walk.run(seconds: 30)
        #expect(walk.duplicates == duplicates)
        #expect(walk.gaps - gaps <= 3)
    }
}

/// Gateways on a street, and devices that walk along it and advertise each second.
struct Walk {
    private struct Gateway {
        var table: DeviceTable
        var isUp = true
        /// The second in which the last message arrives.
        var arrival = 0
    }
    private var gateways: [Gateway]
    private var devices: [Walker]
    private let street: Street
    private let latency: Int
    /// What is on its way to gateways, by the second of its arrival.
    private var late: [Int: [(index: Int, content: Content)]] = [:]
    private var second = 0
    private var isStopped = false
    private var random: SeededGenerator
    private var now: Duration = .zero
    /// The sightings that the broker keeps for later subscribers, by device and gateway.
    private var retained: [String: [String: Fleet.Sighting?]] = [:]
    private var origins: [String: String] = [:]
    private var messages: [GatewayMessage] = []

    /// The seconds in which a device that some gateway hears has no owner, and those in which it has several.
    private(set) var gaps = 0
    private(set) var duplicates = 0
    /// The changes of owners.
    private(set) var handovers = 0
    /// The messages to the broker, and those that it delivers to gateways.
    private(set) var published = 0
    private(set) var delivered = 0

    /// - Parameter latency: the longest time for a message to a gateway, in seconds.
    init(gateways count: Int, devices deviceCount: Int, seed: UInt64, latency: Int = 0) {
        self.latency = latency
        var random = SeededGenerator(seed: seed)
        let street = Street(gateways: count)
        self.street = street
        gateways = (0..<count).map { number in
            var configuration = GatewayConfiguration(id: Street.name(number))
            configuration.isFleet = true
            return Gateway(table: DeviceTable(GatewayTopics(configuration), isFleet: true))
        }
        devices = (0..<deviceCount).map { Walker($0, on: street, &random) }
        self.random = random
        for index in gateways.indices {
            messages += gateways[index].table.setConnected(true, at: now)
            gateways[index].table.listens(at: now)
            for other in 0..<count where other != index {
                gateways[index].table.setOnline(true, Street.name(other), at: now)
            }
        }
    }

    mutating func kill(_ number: Int) {
        gateways[number].isUp = false
        for index in gateways.indices where gateways[index].isUp {
            gateways[index].table.setOnline(false, Street.name(number), at: now)
        }
        deliver()
    }

    mutating func run(seconds: Int) {
        for _ in 0..<seconds {
            now += .seconds(1)
            second += 1
            for (index, content) in late.removeValue(forKey: second) ?? [] where gateways[index].isUp {
                take(content, index)
            }
            var isHeard: Set<Int> = []
            for device in devices.indices {
                if !isStopped { devices[device].walk(street) }
                if hear(device) { isHeard.insert(device) }
            }
            deliver()
            for index in gateways.indices where gateways[index].isUp {
                messages += gateways[index].table.pass(to: now)
            }
            deliver()
            for device in devices.indices { count(device, isHeard: isHeard.contains(device)) }
        }
    }

    /// Has the gateways in reach hear a device. Returns whether there is one.
    private mutating func hear(_ device: Int) -> Bool {
        var isHeard = false
        for index in gateways.indices where gateways[index].isUp {
            guard let strength = street.strength(of: devices[device], at: index, &random) else { continue }
            isHeard = true
            messages += gateways[index].table.hear(
                devices[device].id, devices[device].entry, Advertisement(rssi: strength), at: now)
        }
        return isHeard
    }

    /// Delivers messages in the broker's order, and those that follow from them.
    private mutating func deliver() {
        let topics = GatewayTopics(GatewayConfiguration(id: "broker"))
        while !messages.isEmpty {
            let batch = messages
            messages = []
            for index in gateways.indices where gateways[index].isUp {
                // A gateway subscribes to what others tell of the devices that it hears.
                for (device, isFollowed) in gateways[index].table.takeConsequences().followed where isFollowed {
                    gateways[index].table.listens(to: device, at: now)
                    for (other, sighting) in retained[device] ?? [:] {
                        take(.sighting(device, other, sighting), index)
                    }
                    if let owner = origins[device] { take(.origin(device, owner), index) }
                }
            }
            for message in batch {
                published += 1
                guard let content = Content(message, topics) else { continue }
                switch content {
                case .sighting(let device, let other, let sighting): retained[device, default: [:]][other] = sighting
                case .origin(let device, let owner): origins[device] = owner
                }
                for index in gateways.indices where gateways[index].isUp { send(content, to: index) }
            }
        }
    }

    /// Delivers a message. Those to one gateway stay in their order.
    private mutating func send(_ content: Content, to index: Int) {
        guard latency > 0 else { return take(content, index) }
        gateways[index].arrival = max(gateways[index].arrival, second + Int.random(in: 1...latency, using: &random))
        late[gateways[index].arrival, default: []].append((index, content))
    }

    /// No device moves any longer.
    mutating func stop() { isStopped = true }

    /// Returns how many devices a gateway publishes.
    func devices(of gateway: Int) -> Int {
        devices.count { gateways[gateway].table.isPublished(GatewayTopics.device($0.id)) }
    }

    /// What a message tells other gateways.
    private enum Content {
        case origin(String, String)
        case sighting(String, String, Fleet.Sighting?)

        init?(_ message: GatewayMessage, _ topics: GatewayTopics) {
            if let device = topics.device(in: message.topic, "origin") {
                guard case .object(let origin)? = try? JSONReader.read(Data(message.payload.utf8)),
                    case .string(let owner)? = origin["gateway"]
                else { return nil }
                self = .origin(device, owner)
            } else if let (device, other) = topics.sighting(in: message.topic) {
                self = .sighting(device, other, Fleet.Sighting(Array(message.payload.utf8)))
            } else {
                return nil
            }
        }
    }

    private mutating func take(_ content: Content, _ index: Int) {
        switch content {
        case .origin(let device, let owner):
            guard gateways[index].table.peripheral(device) != nil else { return }
            delivered += 1
            messages += gateways[index].table.setOwner(owner, of: device, at: now)
        case .sighting(let device, let other, let sighting):
            guard gateways[index].table.peripheral(device) != nil else { return }
            delivered += 1
            messages += gateways[index].table.take(sighting, of: device, from: other, at: now)
        }
    }

    private mutating func count(_ device: Int, isHeard: Bool) {
        let id = GatewayTopics.device(devices[device].id)
        let owners = gateways.indices.filter { gateways[$0].isUp && gateways[$0].table.isPublished(id) }
        if owners.count > 1 { duplicates += 1 }
        if owners.isEmpty, isHeard { gaps += 1 }
        guard let owner = owners.first.map(Street.name), owner != devices[device].owner else { return }
        if devices[device].owner != nil { handovers += 1 }
        devices[device].owner = owner
    }
}
