public import BLE

/// What is between the peripheral and the centrals.
extension SimulatedPeripheral {
    /// Sets the distance over time: in seconds from now, and in meters. The strength of advertisements and links
    /// follows from it.
    ///
    /// ```swift
    /// await device.play(meters: [(0, 1), (6, 10)], pathLoss: PathLoss(exponent: 2.5))
    /// ```
    ///
    /// Ends the former script of the strength.
    ///
    /// - Precondition: The times are finite, and the distances are finite and more than 0.
    public func play(meters: [(seconds: Double, meters: Double)], pathLoss: PathLoss = PathLoss()) async {
        await play(meters.map { ($0.seconds, pathLoss.strength(meters: $0.meters)) })
    }

    /// Sets the probability over time that a packet is lost: in seconds from now, and from 0 to 1.
    ///
    /// ```swift
    /// await device.play(loss: [(0, 0.1), (10, 1)], seed: 7)   // it is carried out of reach
    /// ```
    ///
    /// A lost advertisement is missed by all centrals. On a link, values, requests and answers wait for the next
    /// connection event that is not lost, and the link is lost when all are lost for the supervision timeout; see
    /// ``setConnectionInterval(_:supervisionTimeout:)``. While the probability is 1, no link can be made. The packets
    /// of L2CAP channels are not lost. Ends the former script of losses.
    ///
    /// - Parameter seed: the same seed loses the same packets in each run.
    /// - Precondition: The times are finite, and the probabilities are 0 to 1.
    public func play(loss: [(seconds: Double, probability: Double)], seed: UInt64) async {
        for step in loss {
            precondition((0...1).contains(step.probability), "\(step.probability) is not between 0 and 1")
        }
        checkTimes(loss.map(\.seconds))
        radio.log(fault: "play(loss:)", of: id)
        await radio.play(loss.map { ($0.seconds, $0.probability) }, seed: seed, id)
    }

    /// Checks the times of a script, in seconds from now.
    func checkTimes(_ seconds: [Double]) {
        for time in seconds { precondition(abs(time) <= 1e12, "\(time) s from now is not a time") }
    }

    /// Lets values, requests and answers cross the peripheral's links at connection events: at multiples of the
    /// interval on the radio's clock, each at the next one. All that waits crosses at one event. Nil, the default, if
    /// they cross at once; if packets are lost, then at events of 50 ms, with a timeout of 420 ms, as with the kernel.
    ///
    /// The events of a link change with the setting. Neither the making of a link nor L2CAP channels wait for them, and
    /// the discovery of services takes as long as one request.
    ///
    /// - Parameters:
    ///   - interval: 7.5 ms to 4 s.
    ///   - supervisionTimeout: the time without any packet after which the link is lost, 100 ms to 32 s.
    /// - Precondition: The values are in their ranges, and the timeout is longer than two intervals.
    public func setConnectionInterval(
        _ interval: Duration?, supervisionTimeout: Duration = .milliseconds(420)
    ) async {
        let parameters = interval.map { interval in
            precondition(
                (.microseconds(7500) ... .seconds(4)).contains(interval), "an interval of \(interval) is not possible")
            precondition(
                (.milliseconds(100) ... .seconds(32)).contains(supervisionTimeout) && supervisionTimeout > interval * 2,
                "a timeout of \(supervisionTimeout) is not possible with an interval of \(interval)")
            return ConnectionEvents.Parameters(interval: interval, supervisionTimeout: supervisionTimeout)
        }
        await radio.setConnection(parameters, id)
    }

    /// Sets what only an active scan receives in addition to the advertisement: names, services, data and structures.
    /// Nil, the default, if there is no scan response. A passive scan has it only if another scan of its adapter has
    /// received it before.
    public func setScanResponse(_ response: Advertisement?) async {
        radio.log(fault: "setScanResponse", of: id)
        await radio.setScanResponse(response, id)
    }
}
