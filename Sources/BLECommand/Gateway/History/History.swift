import BLE

#if Gateway
    import BLE
    import BLERecording
    import FoundationEssentials
    import Synchronization

    /// Records what a gateway publishes in a file, and reads it for plots.
    ///
    /// A failure does not disturb the gateway: people are told, samples wait in memory, and writing is tried again.
    actor History {
        /// The pause between two transactions: what a gateway that is killed loses.
        static let pause: Duration = .seconds(1)
        /// The pause after a failure.
        static let failurePause: Duration = .seconds(5)
        /// The pause between two deletions.
        private static let tidyPause: Duration = .seconds(60)
        /// What is too old is deleted at most so many times as fast as it was recorded: a clock that is wrong for an
        /// hour costs ten hours.
        private static let deletionPace: Int64 = 10
        /// How long a plot may take: what asks for it waits 8 s.
        private static let plotPatience: Duration = .seconds(6)
        /// The maximum number of plots that are read at the same time.
        private static let plotLimit = 2
        /// The maximum number of points of a plot.
        private static let pointLimit: Int64 = 1000

        private nonisolated let configuration: GatewayConfiguration.History
        private nonisolated let now: @Sendable () -> Date
        private nonisolated let note: @Sendable (String) -> Void
        private nonisolated let queue = Mutex(SampleQueue())
        private var file: HistoryFile?
        private var nextAttempt: Duration = .zero
        private var nextTidying: Duration = .zero
        private var lastTidying: Duration?
        /// The time before which samples are being deleted, in slices. Nil between two deletions.
        private var deletionEnd: Int64?
        private var isFutureTold = false
        private nonisolated let plotCount = Mutex(0)
        private var isFailureTold = false
        private var told = ToldTexts()
        /// The number of samples that no note has counted.
        private var dropped = 0
        private var toldDropped: Duration?

        /// - Parameters:
        ///   - now: returns the time of day.
        ///   - note: tells people what happens.
        init(
            _ configuration: GatewayConfiguration.History, now: @escaping @Sendable () -> Date = { .now },
            note: @escaping @Sendable (String) -> Void
        ) {
            self.configuration = configuration
            self.now = now
            self.note = note
        }

        private nonisolated var second: Int64 { Int64(now().timeIntervalSince1970.rounded(.down)) }

        /// Takes a published state, without waiting.
        nonisolated func take(_ state: DeviceState) {
            let second = second
            queue.withLock { $0.take(state, at: second) }
        }

        /// Writes once a second until the task is cancelled, and then what still waits.
        func run(_ clock: any Clock<Duration>) async {
            let elapsed = CommandClock.elapsed(clock)
            while !Task.isCancelled {
                await write(at: elapsed())
                try? await clock.sleep(for: Self.pause)
            }
            // In a task of its own, because this one is cancelled.
            await Task {
                await write(at: max(elapsed(), nextAttempt))
                await close()
                tellDropped(queue.withLock { $0.takeAll() }, at: nil)
            }.value
        }

        /// Writes what waits, and deletes what is too much. After a failure, both wait for ``failurePause``.
        func write(at time: Duration) async {
            if time >= nextAttempt {
                do {
                    let file = try await openFile()
                    // First, because it makes room.
                    try await tidyIfDue(file, at: time)
                    try await write(to: file)
                    if isFailureTold { note("\(configuration.file.harmless) is written again") }
                    isFailureTold = false
                } catch  where !(error is CancellationError) {
                    nextAttempt = time + Self.failurePause
                    let text = "\(configuration.file.harmless) \(HistoryFile.reason(error)); trying again"
                    if told.insert(text, at: time) {
                        note(text)
                        isFailureTold = true
                    }
                    await close()
                } catch {}
            }
            tellDropped(queue.withLock { $0.takeDropped() }, at: time)
        }

        /// Tells how many samples were dropped, once an hour.
        ///
        /// - Parameter time: nil at the end, which is told in any case.
        private func tellDropped(_ count: Int, at time: Duration?) {
            dropped += count
            if let time, let toldDropped, time - toldDropped < ToldTexts.pause { return }
            guard dropped > 0 else { return }
            note("\(configuration.file.harmless): \(dropped) value\(dropped == 1 ? "" : "s") could not be recorded")
            (dropped, toldDropped) = (0, time)
        }

        private func openFile() async throws -> HistoryFile {
            if let file {
                if file.isInPlace { return file }
                note("\(configuration.file.harmless) was moved or removed; a new one is written")
                await close()
            }
            let opened = try await HistoryFile.open(configuration.file, for: .writing)
            (file, nextTidying, deletionEnd) = (opened, .zero, nil)
            return opened
        }

        private func write(to file: HistoryFile) async throws {
            while true {
                let batch = queue.withLock { $0.takeBatch() }
                guard !batch.isEmpty else { return }
                do {
                    dropped += try await file.write(batch, megabytes: configuration.megabytes)
                } catch {
                    queue.withLock { $0.giveBack(batch) }
                    throw error
                }
            }
        }

        private func tidyIfDue(_ file: HistoryFile, at time: Duration) async throws {
            guard time >= nextTidying else { return }
            let end: Int64
            if let deletionEnd { end = deletionEnd } else { end = try await beginDeletion(file, at: time) }
            let isMoreDue = try await file.tidy(before: end, megabytes: configuration.megabytes)
            deletionEnd = isMoreDue ? end : nil
            nextTidying = isMoreDue ? time : time + Self.tidyPause
        }

        /// Returns the time before which samples are to be deleted.
        private func beginDeletion(_ file: HistoryFile, at time: Duration) async throws -> Int64 {
            // Nothing at first: a program that is started again and again is no faster.
            let pause = min(time - (lastTidying ?? time), Self.tidyPause)
            let span = try await file.span()
            lastTidying = time
            guard let span else { return 0 }
            if span.upperBound > second + 86_400, !isFutureTold {
                isFutureTold = true
                let latest = Output.time(Date(timeIntervalSince1970: Double(span.upperBound)))
                note("\(configuration.file.harmless) has values of \(latest), which is in the future; check the clock")
            }
            let expiry = second - Int64(configuration.days) * 86_400
            return min(expiry, span.lowerBound + Self.deletionPace * pause.components.seconds)
        }

        private func close() async {
            let closing = file
            file = nil
            await closing?.close()
        }

        // MARK: Plots

        /// Returns the numbers of a field in the last hours, at most some 1,000 points. None if there is no file yet.
        ///
        /// - Parameters:
        ///   - device: the device, as in topics.
        ///   - hours: more than the file keeps is taken for that.
        /// - Throws: `busy` while as many plots are read as may be; `recordingFailed`.
        nonisolated func points(device: String, field: String, hours: Int) async throws(BLEError) -> HistoryPoints {
            guard
                plotCount.withLock({ count in
                    guard count < Self.plotLimit else { return false }
                    count += 1
                    return true
                })
            else { throw BLEError(.busy, "other plots are read") }
            defer { plotCount.withLock { $0 -= 1 } }
            guard FileManager.default.fileExists(atPath: configuration.file) else { return HistoryPoints() }
            let end = second
            let start = end - Int64(min(max(hours, 0), configuration.days * 24)) * 3600
            let deadline = ContinuousClock.now + Self.plotPatience
            do {
                // A plot must not wait for what is written, nor the other way round.
                let file = try await HistoryFile.open(configuration.file, for: .reading)
                return try await file.points(
                    device: device, field: field, in: start...end, limit: Self.pointLimit,
                    deadline: deadline)
            } catch is CancellationError {
                throw .cancelled
            } catch let error as BLEError {
                throw error
            } catch HistoryFile.Refusal.isEmpty {
                return HistoryPoints()
            } catch {
                throw BLEError(.recordingFailed, "the history \(HistoryFile.reason(error))")
            }
        }
    }
#endif
