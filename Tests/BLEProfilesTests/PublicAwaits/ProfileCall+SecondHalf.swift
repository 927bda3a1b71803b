import BLE

@testable import BLEProfiles

extension ProfileCall {
    static let secondHalf = [
        ProfileCall("FitnessMachine.feature()") { _ = try await FitnessMachine($0).feature() },
        ProfileCall("FitnessMachine.records(of:)") { _ = try await FitnessMachine($0).records(of: .indoorBikeData) },
        ProfileCall("FitnessMachine.trainingStatus()") { _ = try await FitnessMachine($0).trainingStatus() },
        ProfileCall("FitnessMachine.trainingStatuses()") { _ = try await FitnessMachine($0).trainingStatuses() },
        ProfileCall("FitnessMachine.statuses()") { _ = try await FitnessMachine($0).statuses() },
        ProfileCall("FitnessMachine.supportedSpeeds()") { _ = try await FitnessMachine($0).supportedSpeeds() },
        ProfileCall("FitnessMachine.supportedInclinations()") {
            _ = try await FitnessMachine($0).supportedInclinations()
        },
        ProfileCall("FitnessMachine.supportedResistanceLevels()") {
            _ = try await FitnessMachine($0).supportedResistanceLevels()
        },
        ProfileCall("FitnessMachine.supportedHeartRates()") { _ = try await FitnessMachine($0).supportedHeartRates() },
        ProfileCall("FitnessMachine.supportedPowers()") { _ = try await FitnessMachine($0).supportedPowers() },
        ProfileCall("FitnessMachine.requestControl()") { _ = try await FitnessMachine($0).requestControl() },
        ProfileCall("FitnessMachineControl.request()") { try await FitnessMachineControl(of: fitness($0)).request() },
        ProfileCall("FitnessMachineControl.reset()") { try await FitnessMachineControl(of: fitness($0)).reset() },
        ProfileCall("FitnessMachineControl.setTargetSpeed(kilometersPerHour:)") {
            try await FitnessMachineControl(of: fitness($0)).setTargetSpeed(kilometersPerHour: 1)
        },
        ProfileCall("FitnessMachineControl.setTargetInclination(percent:)") {
            try await FitnessMachineControl(of: fitness($0)).setTargetInclination(percent: 1)
        },
        ProfileCall("FitnessMachineControl.setTargetResistanceLevel(_:isWide:)") {
            try await FitnessMachineControl(of: fitness($0)).setTargetResistanceLevel(1)
        },
        ProfileCall("FitnessMachineControl.setTargetPower(watts:)") {
            try await FitnessMachineControl(of: fitness($0)).setTargetPower(watts: 1)
        },
        ProfileCall("FitnessMachineControl.setTargetHeartRate(beatsPerMinute:)") {
            try await FitnessMachineControl(of: fitness($0)).setTargetHeartRate(beatsPerMinute: 1)
        },
        ProfileCall("FitnessMachineControl.startOrResume()") {
            try await FitnessMachineControl(of: fitness($0)).startOrResume()
        },
        ProfileCall("FitnessMachineControl.stop()") { try await FitnessMachineControl(of: fitness($0)).stop() },
        ProfileCall("FitnessMachineControl.pause()") { try await FitnessMachineControl(of: fitness($0)).pause() },
        ProfileCall("FitnessMachineControl.setTargetedExpendedEnergy(kilocalories:)") {
            try await FitnessMachineControl(of: fitness($0)).setTargetedExpendedEnergy(kilocalories: 1)
        },
        ProfileCall("FitnessMachineControl.setTargetedStepCount(_:)") {
            try await FitnessMachineControl(of: fitness($0)).setTargetedStepCount(1)
        },
        ProfileCall("FitnessMachineControl.setTargetedStrideCount(_:)") {
            try await FitnessMachineControl(of: fitness($0)).setTargetedStrideCount(1)
        },
        ProfileCall("FitnessMachineControl.setTargetedDistance(meters:)") {
            try await FitnessMachineControl(of: fitness($0)).setTargetedDistance(meters: 1)
        },
        ProfileCall("FitnessMachineControl.setTargetedTrainingTime(seconds:)") {
            try await FitnessMachineControl(of: fitness($0)).setTargetedTrainingTime(seconds: 1)
        },
        ProfileCall("FitnessMachineControl.setTargetedTimes(_:)") {
            try await FitnessMachineControl(of: fitness($0)).setTargetedTimes(
                .two(fatBurnSeconds: 1, fitnessSeconds: 2))
        },
        ProfileCall("FitnessMachineControl.setIndoorBikeSimulation(_:)") {
            try await FitnessMachineControl(of: fitness($0)).setIndoorBikeSimulation(
                IndoorBikeSimulation(gradePercent: 1))
        },
        ProfileCall("FitnessMachineControl.setWheelCircumference(millimeters:)") {
            try await FitnessMachineControl(of: fitness($0)).setWheelCircumference(millimeters: 1)
        },
        ProfileCall("FitnessMachineControl.startSpinDown()") {
            _ = try await FitnessMachineControl(of: fitness($0)).startSpinDown()
        },
        ProfileCall("FitnessMachineControl.ignoreSpinDown()") {
            try await FitnessMachineControl(of: fitness($0)).ignoreSpinDown()
        },
        ProfileCall("FitnessMachineControl.setTargetedCadence(perMinute:)") {
            try await FitnessMachineControl(of: fitness($0)).setTargetedCadence(perMinute: 1)
        },
        ProfileCall("Glucose.records(_:timeout:malformed:)") { _ = try await Glucose($0).records() },
        ProfileCall("Glucose.recordCount(_:)") { _ = try await Glucose($0).recordCount(.all) },
        ProfileCall("Glucose.deleteRecords(_:)") { try await Glucose($0).deleteRecords(.all) },
        ProfileCall("Glucose.measurements()") { _ = try await Glucose($0).measurements() },
        ProfileCall("Glucose.measurementContexts()") { _ = try await Glucose($0).measurementContexts() },
        ProfileCall("Glucose.feature()") { _ = try await Glucose($0).feature() },
        ProfileCall("HealthThermometer.measurements()") { _ = try await HealthThermometer($0).measurements() },
        ProfileCall("HealthThermometer.intermediateTemperatures()") {
            _ = try await HealthThermometer($0).intermediateTemperatures()
        },
        ProfileCall("HealthThermometer.temperatureType()") { _ = try await HealthThermometer($0).temperatureType() },
        ProfileCall("HealthThermometer.measurementIntervalSeconds()") {
            _ = try await HealthThermometer($0).measurementIntervalSeconds()
        },
        ProfileCall("HealthThermometer.measurementIntervalsSeconds()") {
            _ = try await HealthThermometer($0).measurementIntervalsSeconds()
        },
        ProfileCall("HealthThermometer.validMeasurementIntervalSeconds()") {
            _ = try await HealthThermometer($0).validMeasurementIntervalSeconds()
        },
        ProfileCall("HealthThermometer.setMeasurementInterval(seconds:)") {
            try await HealthThermometer($0).setMeasurementInterval(seconds: 1)
        },
        ProfileCall("HeartRate.measurements()") { _ = try await HeartRate($0).measurements() },
        ProfileCall("HeartRate.bodySensorLocation()") { _ = try await HeartRate($0).bodySensorLocation() },
        ProfileCall("HeartRate.resetEnergyExpended()") { try await HeartRate($0).resetEnergyExpended() },
        ProfileCall("NordicUART.bytes(overflow:)") { _ = try await NordicUART($0).bytes() },
        ProfileCall("NordicUART.lines(limit:overflow:)") { _ = try await NordicUART($0).lines() },
        ProfileCall("NordicUART.send(_:)") { try await NordicUART($0).send([1]) },
        ProfileCall("NordicUART.writer()") { _ = try await NordicUART($0).writer() },
        ProfileCall("ImmediateAlert.alert(_:)") { try await ImmediateAlert($0).alert(.mild) },
        ProfileCall("LinkLoss.alertLevel()") { _ = try await LinkLoss($0).alertLevel() },
        ProfileCall("LinkLoss.setAlertLevel(_:)") { try await LinkLoss($0).setAlertLevel(.mild) },
        ProfileCall("TxPower.levelDBm()") { _ = try await TxPower($0).levelDBm() },
        ProfileCall("TxPower.levelsDBm()") { _ = try await TxPower($0).levelsDBm() },
        ProfileCall("PulseOximeter.spotChecks()") { _ = try await PulseOximeter($0).spotChecks() },
        ProfileCall("PulseOximeter.continuousMeasurements()") {
            _ = try await PulseOximeter($0).continuousMeasurements()
        },
        ProfileCall("PulseOximeter.features()") { _ = try await PulseOximeter($0).features() },
        ProfileCall("PulseOximeter.storedSpotChecks(timeout:)") { _ = try await PulseOximeter($0).storedSpotChecks() },
        ProfileCall("PulseOximeter.storedSpotCheckCount()") { _ = try await PulseOximeter($0).storedSpotCheckCount() },
        ProfileCall("PulseOximeter.deleteStoredSpotChecks()") { try await PulseOximeter($0).deleteStoredSpotChecks() },
        ProfileCall("RecordAccessControlPoint.records(_:of:timeout:malformed:)") {
            _ = try await RecordAccessControlPoint(of: glucose($0)).records(of: .glucoseMeasurement)
        },
        ProfileCall("RecordAccessControlPoint.recordCount(_:timeout:)") {
            _ = try await RecordAccessControlPoint(of: glucose($0)).recordCount()
        },
        ProfileCall("RecordAccessControlPoint.delete(_:timeout:)") {
            try await RecordAccessControlPoint(of: glucose($0)).delete(.all)
        },
        ProfileCall("RecordAccessControlPoint.report(_:timeout:)") {
            try await RecordAccessControlPoint(of: glucose($0)).report(timeout: nil)
        },
        ProfileCall("RecordAccessControlPoint.combinedReport(_:timeout:)") {
            _ = try await RecordAccessControlPoint(of: glucose($0)).combinedReport(timeout: nil)
        },
        ProfileCall("RecordAccessControlPoint.abort(timeout:)") {
            try await RecordAccessControlPoint(of: glucose($0)).abort()
        },
        ProfileCall("CyclingSpeedAndCadence.measurements()") {
            _ = try await CyclingSpeedAndCadence($0).measurements()
        },
        ProfileCall("CyclingSpeedAndCadence.feature()") { _ = try await CyclingSpeedAndCadence($0).feature() },
        ProfileCall("CyclingSpeedAndCadence.sensorLocation()") {
            _ = try await CyclingSpeedAndCadence($0).sensorLocation()
        },
        ProfileCall("CyclingSpeedAndCadence.setWheelRevolutions(_:)") {
            try await CyclingSpeedAndCadence($0).setWheelRevolutions(1)
        },
        ProfileCall("CyclingSpeedAndCadence.updateSensorLocation(_:)") {
            try await CyclingSpeedAndCadence($0).updateSensorLocation(.chest)
        },
        ProfileCall("CyclingSpeedAndCadence.supportedSensorLocations()") {
            _ = try await CyclingSpeedAndCadence($0).supportedSensorLocations()
        },
        ProfileCall("RunningSpeedAndCadence.measurements()") {
            _ = try await RunningSpeedAndCadence($0).measurements()
        },
        ProfileCall("RunningSpeedAndCadence.feature()") { _ = try await RunningSpeedAndCadence($0).feature() },
        ProfileCall("RunningSpeedAndCadence.sensorLocation()") {
            _ = try await RunningSpeedAndCadence($0).sensorLocation()
        },
        ProfileCall("RunningSpeedAndCadence.setTotalDistance(meters:)") {
            try await RunningSpeedAndCadence($0).setTotalDistance(meters: 1)
        },
        ProfileCall("RunningSpeedAndCadence.startSensorCalibration()") {
            try await RunningSpeedAndCadence($0).startSensorCalibration()
        },
        ProfileCall("RunningSpeedAndCadence.updateSensorLocation(_:)") {
            try await RunningSpeedAndCadence($0).updateSensorLocation(.chest)
        },
        ProfileCall("RunningSpeedAndCadence.supportedSensorLocations()") {
            _ = try await RunningSpeedAndCadence($0).supportedSensorLocations()
        },
        ProfileCall("SCControlPoint.setCumulativeValue(_:)") {
            try await CyclingSpeedAndCadence($0).controlPoint.setCumulativeValue(1)
        },
        ProfileCall("SCControlPoint.startSensorCalibration()") {
            try await CyclingSpeedAndCadence($0).controlPoint.startSensorCalibration()
        },
        ProfileCall("SCControlPoint.updateSensorLocation(_:)") {
            try await CyclingSpeedAndCadence($0).controlPoint.updateSensorLocation(.chest)
        },
        ProfileCall("SCControlPoint.supportedSensorLocations()") {
            _ = try await CyclingSpeedAndCadence($0).controlPoint.supportedSensorLocations()
        },
    ]
}
