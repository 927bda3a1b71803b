import BLE
import Testing

@testable import BLEBlueZ

/// Packets of the kernel's management interface.
@Suite struct ManagementPacketTests {
    /// A packet with the length of its parameters.
    static func packet(_ event: UInt8, adapter: UInt8 = 0, _ parameters: [UInt8]) -> [UInt8] {
        [event, 0, adapter, 0, UInt8(parameters.count & 0xFF), UInt8(parameters.count >> 8)] + parameters
    }

    /// `Device Found`.
    static func found(
        _ address: [UInt8] = [0xF0, 0xF1, 0xF2, 0xF3, 0xF4, 0xF5], type: UInt8 = 2, rssi: Int8 = -60,
        adapter: UInt8 = 0, _ data: [UInt8] = [2, 1, 6]
    ) -> [UInt8] {
        packet(
            0x12, adapter: adapter,
            address.reversed() + [type, UInt8(bitPattern: rssi), 0, 0, 0, 0]
                + [UInt8(data.count & 0xFF), UInt8(data.count >> 8)] + data)
    }

    @Test func `an advertisement has adapter, address, strength and data`() {
        guard case .advertisement(let received) = ManagementPacket(Self.found(rssi: -71, adapter: 3)) else {
            Issue.record("no advertisement")
            return
        }
        #expect(received.adapter == 3)
        #expect(received.sender.address == 0xF0F1_F2F3_F4F5)
        #expect(received.sender.isRandom)
        #expect(received.rssi == -71)
        #expect(Array(received.data) == [2, 1, 6])
    }

    @Test func `data of an extended advertisement is read whole, and none is data, too`() {
        for count in [0, 31, 254, 1650] {
            let data = [UInt8](repeating: 7, count: count)
            guard case .advertisement(let received) = ManagementPacket(Self.found(type: 1, data)) else {
                Issue.record("no advertisement of \(count) bytes")
                continue
            }
            #expect(Array(received.data) == data)
            #expect(!received.sender.isRandom)
        }
    }

    @Test func `a Classic device is not an advertisement`() {
        for type in [UInt8(0), 3, 255] { #expect(ManagementPacket(Self.found(type: type)) == .other) }
    }

    @Test func `a packet that is cut or has a wrong length is skipped`() {
        let packet = Self.found()
        for count in 0..<packet.count { #expect(ManagementPacket(Array(packet.prefix(count))) == .other) }
        #expect(ManagementPacket(packet + [0]) == .other)
        // The length of the data, which has to agree with that of the packet.
        for length in [UInt8(0), 2, 4, 255] {
            var packet = packet
            packet[18] = length
            #expect(ManagementPacket(packet) == .other)
        }
        // Parameters that are too short for what they have to contain, in a packet of the right length.
        for count in 0..<14 {
            #expect(ManagementPacket(Self.packet(0x12, [UInt8](repeating: 0, count: count))) == .other)
        }
    }

    @Test func `an answer has the command and the status, whichever event carries it`() {
        let refusal = Self.packet(0x02, [0x3A, 0, 0x14])
        #expect(ManagementPacket(refusal) == .answer(.startServiceDiscovery, .permissionDenied))
        #expect(ManagementPacket(Self.packet(0x01, [0x3A, 0, 0, 6])) == .answer(.startServiceDiscovery, .success))
        #expect(ManagementPacket(Self.packet(0x01, [0x3A, 0, 0x0A, 6])) == .answer(.startServiceDiscovery, .busy))
        #expect(ManagementPacket(Self.packet(0x01, [0x24, 0, 0])) == .answer(.stopDiscovery, .success))
        for parameters in [[], [0x3A], [0x3A, 0], [0x3A, 0, 0x14, 0], [0x16, 0, 0x14]] as [[UInt8]] {
            #expect(ManagementPacket(Self.packet(0x02, parameters)) == .other)
        }
        for parameters in [[], [0x3A], [0x3A, 0], [0x16, 0, 0x14, 6]] as [[UInt8]] {
            #expect(ManagementPacket(Self.packet(0x01, parameters)) == .other)
        }
    }

    @Test func `the beginning and the end of a discovery, and links, are told`() {
        #expect(ManagementPacket(Self.packet(0x13, [6, 1])) == .discovering(true))
        #expect(ManagementPacket(Self.packet(0x13, [7, 0])) == .discovering(false))
        for parameters in [[], [6], [6, 1, 0]] as [[UInt8]] {
            #expect(ManagementPacket(Self.packet(0x13, parameters)) == .other)
        }
        #expect(ManagementPacket(Self.packet(0x0B, [UInt8](repeating: 0, count: 13))) == .linkChanged)
        #expect(ManagementPacket(Self.packet(0x0D, [UInt8](repeating: 0, count: 8))) == .linkChanged)
    }

    @Test func `each packet has the number of its adapter`() {
        #expect(ManagementPacket.adapter(of: Self.packet(0x13, adapter: 3, [6, 1])) == 3)
        #expect(ManagementPacket.adapter(of: [0x13, 0, 1, 2, 0, 0]) == 0x0201)
        for count in 0..<6 { #expect(ManagementPacket.adapter(of: [UInt8](repeating: 0, count: count)) == nil) }
    }

    @Test func `other events are skipped`() {
        for event in 0...255 as ClosedRange<UInt8> where ![0x01, 0x02, 0x0B, 0x0D, 0x12, 0x13].contains(event) {
            var packet = Self.found()
            packet[0] = event
            #expect(ManagementPacket(packet) == .other)
        }
    }

    @Test func `the commands are for LE, and for an adapter`() {
        #expect(
            ManagementCommand.startServiceDiscovery.packet(adapter: 0x0201)
                == [0x3A, 0, 1, 2, 4, 0, 6, 127, 0, 0])
        #expect(ManagementCommand.stopDiscovery.packet(adapter: 0) == [0x24, 0, 0, 0, 1, 0, 6])
    }
}
