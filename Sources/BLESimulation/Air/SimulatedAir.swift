internal import BLE

/// What is between a peripheral and the centrals, as far as a test asks for it.
struct SimulatedAir {
    /// The probability that an advertisement or an exchange of a link is lost, 0 to 1.
    var loss = 0.0
    /// Decides about advertisements.
    var random = SeededGenerator(seed: 0)
    /// The seed of the decisions about links.
    var seed: UInt64 = 0
    /// Nil if links do not wait for connection events unless packets are lost.
    var connection: ConnectionEvents.Parameters?
    /// Decides about the delays of advertisements.
    var delays: SeededGenerator?
    /// What only a scan that asks for it receives.
    var scanResponse: Advertisement?

    /// Whether values and requests wait for connection events.
    var hasEvents: Bool { connection != nil || loss > 0 }

    /// Returns the seed of a link's own, so that it does not lose the same packets as the one before.
    func seed(ofLink ordinal: Int) -> UInt64 {
        var generator = SeededGenerator(seed: seed &+ UInt64(ordinal))
        return generator.next()
    }

}

extension SimulatedDevice {
    /// Decides about an advertisement.
    func losesAdvertisement() -> Bool {
        air.loss > 0 && Double.random(in: 0..<1, using: &air.random) < air.loss
    }

    /// Returns the time of the advertisement after one.
    ///
    /// The random delay of advertisements has steps of 625 µs, the unit of advertising intervals. (The specification
    /// leaves them open: volume 6, part B, section 4.4.2.2.1.)
    func nextAdvertisement(after now: Duration) -> Duration {
        let regular = now + advertisingInterval
        guard var delays = air.delays else { return regular }
        defer { air.delays = delays }
        return regular + .microseconds(625) * Int.random(in: 0...16, using: &delays)
    }
}

extension DeviceID {
    /// A seed of this device's own.
    func seed(_ seed: UInt64) -> UInt64 { rawValue.utf8.reduce(seed) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 } }
}

extension Advertisement {
    /// Returns the advertisement with the content of a scan response.
    func adding(_ response: Advertisement) -> Advertisement {
        var all = self
        all.localName = response.localName ?? localName
        all.txPower = txPower ?? response.txPower
        all.appearance = appearance ?? response.appearance
        all.services.formUnion(response.services)
        all.solicitedServiceUUIDs.formUnion(response.solicitedServiceUUIDs)
        all.dataOfServices.merge(response.dataOfServices)
        all.companyData.merge(response.companyData)
        all.structures += response.structures
        return all
    }
}
