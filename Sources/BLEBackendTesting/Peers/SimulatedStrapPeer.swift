public import BLE
public import BLESimulation

/// A contract peer whose peripheral is the strap on a simulated radio, below any stack.
public protocol SimulatedStrapPeer: ContractPeer {
    var strap: SimulatedStrap { get }
    /// The strap's peripheral on the simulated radio.
    var peripheral: SimulatedPeripheral { get }
    /// What the stack makes of the radio's faults. By default, what the simulation's own backends do.
    var faultFacts: FaultFacts { get }
}

extension SimulatedStrapPeer {
    public var faultFacts: FaultFacts { FaultFacts() }

    public var isConnected: Bool {
        get async { await peripheral.isConnected }
    }

    /// Long enough that only a hang exceeds it, even on a busy machine.
    public var timeout: Duration { .seconds(600) }

    public func disconnect() async { await peripheral.disconnect() }
    public func loseLink() async { await peripheral.dropLink() }
    public func setAdvertising(_ isAdvertising: Bool) async { await peripheral.setAdvertising(isAdvertising) }

    public func setStrength(_ strength: Int?) async {
        var advertisement = strap.definition.advertisement
        advertisement.rssi = strength
        await peripheral.setAdvertisement(advertisement)
    }

    public func notify(_ value: [UInt8]) async {
        await peripheral.notify(value, from: EchoStrap.output.key.characteristic)
    }

    public func burst(count: Int, length: Int) async {
        for number in 0..<count {
            let head = (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
            let value = head + [UInt8](repeating: 0, count: length - 4)
            await peripheral.notify(value, from: EchoStrap.output.key.characteristic)
        }
    }

    public func written() async -> [UInt8] { await strap.written }
    public func hold() async { await strap.hold() }
    public func release() async { await strap.release() }
    public func setServices(_ services: PeerServices) async { await peripheral.setServices(strap.services(services)) }
    public func setPairing(_ pairing: PeerPairing) async { await peripheral.setPairing(strap.method(pairing)) }
    public func enter(_ passkey: Passkey) async { await strap.enter(passkey) }
    public func untilAskedToPair() async { while await !peripheral.isPairing { await Task.yield() } }
    public func bonds() async -> Int { await peripheral.isPaired ? 1 : 0 }
    public func loseBonds() async { await peripheral.loseBond() }

    public func reset() async {
        await peripheral.setServices(strap.services(.original))
        await strap.reset()
    }

    public func until(connections: Int) async {
        while await peripheral.isConnected != (connections > 0) { await Task.yield() }
    }

    public func until(subscribers: Int) async {
        while await peripheral.subscriberCount(of: EchoStrap.output.key.characteristic) != subscribers {
            await Task.yield()
        }
    }

    public func untilHeld() async {
        while await strap.heldCount == 0 { await Task.yield() }
    }
}
